"""The operators of a `_metadata` file, against what Flink's own classes say of it."""

import struct
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.checkpoint_parsing import JavaBytes, NotUnderstood, channels, keyed, operators_in, stream
from tests.adapters.test_checkpoint_parsing import FOLDER, recorded

WRITTEN_BY_FLINK = [3, 4, 5, 6]
"""`every_handle_vN` was written by the serializers of Flink 2.1.1 from one made-up job with every kind of handle."""
SIZES_AS_FLINK_SAYS = [506, 3034, 3117, 953, 800, 0]
"""`OperatorState.getStateSize()` of these operators, in order."""


def every_handle(version: int) -> bytes:
    """That file."""
    return (FOLDER / f"every_handle_v{version}").read_bytes()


@pytest.mark.parametrize("version", WRITTEN_BY_FLINK)
def test_every_kind_of_state_is_as_large_as_flink_says(version: int) -> None:
    """Hash and RocksDB state, changelogs, records in flight, coordinators, shared files, finished operators."""
    parts = operators_in(every_handle(version), version)

    assert [part.bytes for part in parts] == SIZES_AS_FLINK_SAYS
    assert [int(part.operator_id[16:], 16) for part in parts] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("version", "name"), [(4, None), (5, "keyed by hash"), (6, "keyed by hash")])
def test_operators_have_names_since_version_5(version: int, name: str | None) -> None:
    """Flink 1.20 writes version 4 and no names."""
    assert operators_in(every_handle(version), version)[0].name == name


@pytest.mark.parametrize("version", WRITTEN_BY_FLINK)
def test_a_list_state_is_told_with_its_place(version: int) -> None:
    """Inline, beside the file, or a piece of a file that is shared."""
    lists = {
        next(iter(each.offsets)): each.handle
        for part in operators_in(every_handle(version), version)
        for each in part.lists
    }

    assert lists["offsets"].inline == bytes(5)
    assert (lists["raw"].file, lists["raw"].is_relative) == ("beside", True)
    merged = lists["iceberg-files-committer-state"]
    assert (merged.file, merged.start, merged.size) == ("s3://state/taskowned/segments", 1234, 800)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("v1_stop_savepoint__metadata", {"b0c484": 3399, "f362c8": 197, "fd30ee": 0, "45f32a": 0}),
        ("v2_stop_savepoint__metadata", {"ae5c03": 0, "158987": 3322, "f362c8": 197, "bc4197": 0}),
        (
            "flink21_v1_chk12_not_inline.xz",
            {"e4cb5b": 0, "ba4049": 0, "cbc357": 398853, "570f70": 0, "7f86b0": 22145, "cf155f": 0},
        ),
    ],
)
def test_a_real_jobs_operators_are_all_told(name: str, sizes: dict[str, int]) -> None:
    """Those without state too, among them the one whose id the V2 sink writes into its commits."""
    content = recorded(name)

    parts = operators_in(content, int.from_bytes(content[4:8], "big"))

    assert {part.operator_id[:6]: part.bytes for part in parts} == sizes


@pytest.mark.parametrize("version", WRITTEN_BY_FLINK)
@given(st.data())
def test_bytes_that_do_not_follow_the_layout_are_not_understood(version: int, data: st.DataObject) -> None:
    """Cut anywhere before its last operator ends: said, never guessed, never another error."""
    whole = every_handle(version)
    end = whole.rfind(b"\xac\xed\x00\x05") if version > 3 else len(whole)
    keep = data.draw(st.integers(16, end - 1))

    with pytest.raises(NotUnderstood):
        operators_in(whole[:keep], version)


@pytest.mark.parametrize("version", [4, 5, 6])
@given(st.binary(max_size=300))
def test_garbage_is_understood_or_not_but_nothing_else_happens(version: int, garbage: bytes) -> None:
    """No other exception, no endless loop, no list of a billion parts."""
    with suppress(NotUnderstood):
        assert len(operators_in(bytes(16) + garbage, version)) <= 300


def ints(*values: int) -> bytes:
    """Java's ints."""
    return struct.pack(f">{len(values)}i", *values)


def longs(*values: int) -> bytes:
    """Java's longs."""
    return struct.pack(f">{len(values)}q", *values)


def text(value: str) -> bytes:
    """Java's text."""
    return len(value).to_bytes(2, "big") + value.encode()


def file_of(size: int) -> bytes:
    """A file's handle."""
    return b"\x02" + longs(size) + text("s3://state/f")


OLDER = {
    "hash, before 1.15": b"\x03" + ints(0, 2) + longs(0, 5) + file_of(50),
    "rocksdb, before 1.16": b"\x05" + longs(7) + text("backend") + ints(0, 2) + file_of(3)
    + ints(1) + text("1.sst") + file_of(40) + ints(1) + text("2.sst") + file_of(7),
    "changelog in files, before 1.16": b"\x0a" + ints(0, 2, 1) + longs(0) + file_of(50) + longs(50, 50) + text("id"),
    "changelog, before 1.16": b"\x08" + ints(0, 2) + longs(9) + ints(1) + b"\x03" + ints(0, 1) + longs(0) + file_of(50)
    + ints(0) + longs(1) + text("id"),
}  # fmt: skip
"""What today's Flink reads and no longer writes; built from its readers."""


@pytest.mark.parametrize("form", OLDER)
def test_keyed_state_of_older_flink_is_followed_to_its_end(form: str) -> None:
    """Fifty bytes each, and nothing left over."""
    data = JavaBytes(OLDER[form])

    assert (keyed(data), data.left) == (50, 0)


@pytest.mark.parametrize("content", [b"\x63", b"\x01\xff", b"\x0f" + longs(1)])
def test_an_unknown_or_cut_handle_is_not_understood(content: bytes) -> None:
    """The kind is named, or where the bytes ended."""
    with pytest.raises(NotUnderstood, match=r"unknown kind 99|bytes were expected"):
        stream(JavaBytes(content))


def test_a_count_that_cannot_be_is_not_believed() -> None:
    """Two billion channels in four bytes are a misread place."""
    with pytest.raises(NotUnderstood, match="2000000000 parts were announced"):
        channels(JavaBytes(ints(2_000_000_000)), is_tagged=True)


def test_the_fixtures_are_all_read_to_their_properties() -> None:
    """No real file falls back to the search for text."""
    names = [path.name for path in Path(FOLDER).iterdir() if "beside" not in path.name]

    versions = {name: int.from_bytes(recorded(name)[4:8], "big") for name in names}

    assert all(operators_in(recorded(name), version) for name, version in versions.items())
    assert set(versions.values()) == {3, 4, 5, 6}
