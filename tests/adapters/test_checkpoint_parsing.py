"""A `_metadata` file's own words, of Flink 1.20 and 2.1: operators, source positions, state files."""

import lzma
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.adapters.checkpoint_parsing import (
    Handle,
    JavaBytes,
    NotUnderstood,
    OperatorList,
    OperatorPart,
    ParsedMetadata,
    StateFile,
    channels,
    operators_and_files,
    positions_in,
    stream,
    told_by,
)
from bot.observation.flink import CheckpointKind, SourcePosition
from bot.observation.ids import CheckpointId, JobId, OperatorId

FOLDER = Path(__file__).parent / "fixtures" / "checkpoint_metadata"


def recorded(name: str) -> bytes:
    """A file that a real Flink wrote; those of 2.1 are kept compressed."""
    content = (FOLDER / name).read_bytes()
    return lzma.decompress(content) if name.endswith(".xz") else content


V1_120 = JobId("4588180333ca4b09abdecd44f5c9d32c")
V2_120 = JobId("448b665aff56779aea15ba9f07e4148a")
V1_21 = JobId("d906dbe608727e8a3ae1a4f62b499120")
V1_21_RESTORED = JobId("4ebacc79d193062dbb6bdf840a72acac")
V2_21 = JobId("fde30a88749f34dd7afc9cefefc10d05")
COMMITTER_V1_120 = OperatorId("b0c4849fdea766ab199107cc0073124e")
COMMITTER_V2_120 = OperatorId("ae5c036551721cb6b1aa9912f4cb397e")
COMMITTER_V1_21 = OperatorId("7f86b06891c19f1e76c3f65c90ce752b")


UPSERT = JobId("082e965efea30042147eb49713eb374e")


def point(checkpoint: int, kind: CheckpointKind, job: JobId, *owed: str, **told: object) -> ParsedMetadata:
    """What a file tells whose committer's state was read; it owes these manifests of that run."""
    pending = tuple(f"{job}-{each}.avro" for each in owed)
    return ParsedMetadata(
        checkpoint_id=CheckpointId(checkpoint), kind=kind, job_id=job, pending_manifests=pending,
        is_committer_read=True,
    ).model_copy(update=told)  # fmt: skip


def beside(name: str, end: int) -> StateFile:
    """A file beside it, which is read up to there."""
    return StateFile(name, is_relative=True, end=end)


REAL = {
    "v1_stop_savepoint__metadata": point(
        8, CheckpointKind.STOP_SAVEPOINT, V1_120, f"{COMMITTER_V1_120}-00000-0-8-00008"
    ),
    "v2_stop_savepoint__metadata": point(
        8, CheckpointKind.STOP_SAVEPOINT, V2_120, f"{COMMITTER_V2_120}-00000-0-8-00008"
    ),
    "v1_upsert_chk3__metadata": point(
        3, CheckpointKind.CHECKPOINT, UPSERT, *(f"{COMMITTER_V1_120}-00000-0-3-0000{n}" for n in (5, 6))
    ),
    "flink21_v1_savepoint.xz": point(
        4, CheckpointKind.SAVEPOINT, V1_21, f"{COMMITTER_V1_21}-00000-0-4-00004",
        state_files=(beside("d9532f3f-ac50-4763-982a-4d3600849570", 399_813),),
    ),
    "flink21_v2_stop_savepoint.xz": point(
        8, CheckpointKind.STOP_SAVEPOINT, V2_21,
        state_files=(beside("4e7ec0cb-b153-4973-b5d1-36a2d7ee62f0", 399_413),),
    ),
    "flink21_v1_chk12_not_inline.xz": ParsedMetadata(
        checkpoint_id=CheckpointId(12), kind=CheckpointKind.CHECKPOINT,
        state_files=(
            beside("f61accfc-fb2c-46f9-8ca7-26fa98fe3283", 398_853),
            beside("cfb11008-84e9-46a3-8ac3-d05cb93769c8", 22_145),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "expected"), REAL.items(), ids=REAL)
def test_a_real_file_tells_its_point_of_state(name: str, expected: ParsedMetadata) -> None:
    """Id, kind, writer and what it still owes, for both sinks and both lines of Flink."""
    told = told_by(recorded(name))

    assert told.model_copy(update={"operators": (), "manifest_folders": {}}) == expected
    assert told.operators


def test_pending_manifests_are_told_by_rising_checkpoint() -> None:
    """A V1 sink that was restored below its maximum carries one manifest for each withheld checkpoint."""
    told = told_by(recorded("flink21_v1_chk9.xz"))

    assert [name.split("-")[4] for name in told.pending_manifests] == ["5", "6", "7", "8", "9"]


def test_a_drained_savepoint_is_a_problem() -> None:
    """After `drain: true` Iceberg's V1 sink never commits again, so it is no restore point."""
    stopped = recorded("v1_stop_savepoint__metadata")

    told = told_by(stopped.removesuffix(b"t\x00\x07SUSPEND") + b"t\x00\x09TERMINATE")

    assert (told.kind, told.is_drained) == (CheckpointKind.STOP_SAVEPOINT, True)
    assert told.checkpoint_id == 8
    assert told.problem is not None
    assert "never commits again" in told.problem


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cut off after 0 bytes"),
        (b"\x49\x60\x67\x2d", "cut off after 4 bytes"),
        (b"PK\x03\x04" + bytes(40), "begins with 504b0304"),
        (bytes.fromhex("4960672d00000009") + bytes(40), "format version 9; Waterline reads versions 4 to 6"),
        (bytes.fromhex("4960672d00000003") + bytes(40), "format version 3"),
        (bytes.fromhex("4960672d00000004") + b"\xff" * 40, "impossible checkpoint id -1"),
        (bytes.fromhex("4960672d00000004") + bytes(40), "properties that end it are missing"),
    ],
)
def test_what_is_no_metadata_is_told_as_a_problem(content: bytes, problem: str) -> None:
    """Empty, cut off, another format, an unknown version: each in words."""
    told = told_by(content)

    assert told.problem is not None
    assert problem in told.problem


@given(keep=st.integers(min_value=0, max_value=4863))
def test_a_file_that_is_cut_off_anywhere_is_a_problem(keep: int) -> None:
    """A half-copied file is never taken for a restore point, wherever it ends."""
    whole = recorded("v1_stop_savepoint__metadata")

    told = told_by(whole[:keep])

    assert told.problem is not None


@given(st.binary(max_size=400))
def test_no_bytes_raise(content: bytes) -> None:
    """Garbage is a problem, not a crash."""
    assert told_by(content).problem is not None


@given(st.data())
def test_a_flipped_byte_does_not_raise(data: st.DataObject) -> None:
    """A real file with a few bytes changed still gives an answer."""
    content = bytearray(recorded("v2_stop_savepoint__metadata"))
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))

    told = told_by(bytes(content))

    assert told.problem is None or told.problem.endswith((".", "again."))


def test_committer_state_beside_the_file_is_read_when_it_is_given() -> None:
    """A V1 sink that was restored below its maximum owes eight checkpoints: 22 KB, in a file of its own."""
    content = recorded("flink21_v1_chk12_not_inline.xz")
    asked: list[Handle] = []

    def beside(handle: Handle) -> bytes:
        asked.append(handle)
        return recorded("flink21_v1_chk12_beside.xz")

    told = told_by(content, beside)

    assert [(handle.file, handle.size) for handle in asked] == [("cfb11008-84e9-46a3-8ac3-d05cb93769c8", 22145)]
    assert (told.job_id, told.is_committer_read) == (V1_21_RESTORED, True)
    assert [name.split("-")[4] for name in told.pending_manifests] == ["5", "6", "7", "8", "9", "10", "11", "12"]


def test_committer_state_that_is_not_legible_is_not_read() -> None:
    """Compressed or cut, a pending manifest would not be seen in it: nothing may be concluded."""
    told = told_by(recorded("flink21_v1_chk12_not_inline.xz"), lambda handle: bytes(handle.size))

    assert (told.job_id, told.pending_manifests, told.is_committer_read) == (None, (), False)


def test_where_the_layout_breaks_the_text_is_still_told() -> None:
    """A kind of handle that this Waterline does not know: what it owes is seen, sizes are not, and that is said."""
    content = bytearray(recorded("v1_stop_savepoint__metadata"))
    content[content.index(b"iceberg-files-committer-state") - 7] = 99

    told = told_by(bytes(content))

    assert told.not_understood is not None
    assert "operator state before byte" in told.not_understood
    assert (told.operators, told.job_id, told.problem) == ((), V1_120, None)
    assert told.pending_manifests == (f"{V1_120}-{COMMITTER_V1_120}-00000-0-8-00008.avro",)


WRITTEN_BY_FLINK = [4, 5, 6]
"""`every_handle_vN` was written by the serializers of Flink 2.1.1 from one made-up job with every kind of handle."""
SIZES_AS_FLINK_SAYS = [506, 3034, 3117, 953, 800, 0]
"""`OperatorState.getStateSize()` of these operators, in order."""


def every_handle(version: int) -> bytes:
    """That file."""
    return (FOLDER / f"every_handle_v{version}").read_bytes()


@pytest.mark.parametrize("version", WRITTEN_BY_FLINK)
def test_every_kind_of_state_is_as_large_as_flink_says(version: int) -> None:
    """Hash and RocksDB state, changelogs, records in flight, coordinators, shared files, finished operators."""
    parts = operators_and_files(every_handle(version), version)[0]

    assert [part.bytes for part in parts] == SIZES_AS_FLINK_SAYS
    assert [int(part.operator_id[16:], 16) for part in parts] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("version", "name"), [(4, None), (5, "keyed by hash"), (6, "keyed by hash")])
def test_operators_have_names_since_version_5(version: int, name: str | None) -> None:
    """Flink 1.20 writes version 4 and no names."""
    assert operators_and_files(every_handle(version), version)[0][0].name == name


@pytest.mark.parametrize("version", WRITTEN_BY_FLINK)
def test_a_list_state_is_told_with_its_place(version: int) -> None:
    """Inline, beside the file, or a piece of a file that is shared."""
    lists = {
        next(iter(each.offsets)): each.handle
        for part in operators_and_files(every_handle(version), version)[0]
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

    parts = operators_and_files(content, int.from_bytes(content[4:8], "big"))[0]

    assert {part.operator_id[:6]: part.bytes for part in parts} == sizes


@pytest.mark.parametrize("version", WRITTEN_BY_FLINK)
@given(st.data())
def test_bytes_that_do_not_follow_the_layout_are_not_understood(version: int, data: st.DataObject) -> None:
    """Cut anywhere before its last operator ends: said, never guessed, never another error."""
    whole = every_handle(version)
    end = whole.rfind(b"\xac\xed\x00\x05")
    keep = data.draw(st.integers(16, end - 1))

    with pytest.raises(NotUnderstood):
        operators_and_files(whole[:keep], version)[0]


@pytest.mark.parametrize("version", [4, 5, 6])
@given(st.binary(max_size=300))
def test_garbage_is_understood_or_not_but_nothing_else_happens(version: int, garbage: bytes) -> None:
    """No other exception, no endless loop, no list of a billion parts."""
    with suppress(NotUnderstood):
        assert len(operators_and_files(bytes(16) + garbage, version)[0]) <= 300


def ints(*values: int) -> bytes:
    """Java's ints."""
    return struct.pack(f">{len(values)}i", *values)


def longs(*values: int) -> bytes:
    """Java's longs."""
    return struct.pack(f">{len(values)}q", *values)


def text(value: str) -> bytes:
    """Java's text."""
    return len(value).to_bytes(2, "big") + value.encode()


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

    assert all(operators_and_files(recorded(name), version)[0] for name, version in versions.items())
    assert set(versions.values()) == {4, 5, 6}


SOURCE = OperatorId("cb" * 16)
NEVER = -(2**63)


def split(topic: str, partition: int, following: int, until: int = NEVER, version: int = 0) -> bytes:
    """One item of the state, as Flink's `SimpleVersionedListState` and Kafka's serializer write it."""
    name = topic.encode()
    body = struct.pack(">h", len(name)) + name + struct.pack(">iqq", partition, following, until)
    item = struct.pack(">ii", version, len(body)) + body
    return struct.pack(">i", len(item)) + item


def reader(items: Sequence[bytes], name: str = "SourceReaderState", beside: str | None = None) -> OperatorPart:
    """A source with one subtask that keeps these items."""
    content = b"".join(items)
    offsets = tuple(sum(map(len, items[:place])) for place in range(len(items)))
    handle = Handle(size=len(content), inline=None if beside else content, file=beside)
    lists = (OperatorList(offsets={name: offsets}, handle=handle),)
    return OperatorPart(operator_id=SOURCE, name=None, parallelism=1, bytes=len(content), lists=lists)


def nothing(_handle: Handle) -> bytes | None:
    """No file can be had."""
    return None


def test_each_partition_is_told_with_its_next_offset() -> None:
    """In the order of topic and partition, whichever subtask keeps it."""
    parts = (reader([split("orders", 1, 4_000), split("clicks", 0, -2)]), reader([split("orders", 0, 17, 20)]))

    found = positions_in(parts, nothing)

    assert [(each.topic, each.partition, each.following, each.until) for each in found] == [
        ("clicks", 0, -2, None),
        ("orders", 0, 17, 20),
        ("orders", 1, 4_000, None),
    ]
    assert {each.operator_id for each in found} == {SOURCE}


def test_a_state_beside_the_file_is_read_there() -> None:
    """As Flink keeps it above the inline threshold."""
    items = [split("orders", 0, 5)]

    found = positions_in((reader(items, beside="s3://state/chk-7/9a"),), lambda _: b"".join(items))

    assert found == (SourcePosition(operator_id=SOURCE, topic="orders", partition=0, following=5),)


@pytest.mark.parametrize(
    "strange",
    [
        split("orders", 0, 5, version=1),
        split("orders", 0, 5)[:-1],
        split("orders", -1, 5),
        struct.pack(">iii", 12, 0, 4) + b"file",
        b"",
    ],
    ids=["another-version", "cut-off", "no-partition", "another-source", "nothing"],
)
def test_a_part_of_the_positions_never_passes_for_all(strange: bytes) -> None:
    """Nothing is told where one split is not understood."""
    assert positions_in((reader([split("orders", 0, 5), strange]),), nothing) == ()


def test_a_state_that_cannot_be_had_tells_nothing() -> None:
    """Gone, or on a storage that is not this one."""
    parts = (reader([split("orders", 0, 5)]), reader([split("orders", 1, 5)], beside="s3://gone"))

    assert positions_in(parts, nothing) == ()


def test_another_list_state_is_no_source() -> None:
    """Whatever its bytes look like."""
    assert positions_in((reader([split("orders", 0, 5)], name="offsets"),), nothing) == ()


def test_a_savepoint_of_a_real_job_tells_where_kafka_goes_on() -> None:
    """Flink 2.1.1, Kafka 3.9.1 with connector 4.0.1, a topic of two partitions, stopped with a savepoint.

    The table held 1,058 rows of partition 0, the last of offset 1057, and 1,592 of partition 1, the last of 1591.
    """
    told = told_by(recorded("kafka_stop_savepoint.xz"))

    assert [(each.topic, each.partition, each.following) for each in told.source_positions] == [
        ("payments", 0, 1_058),
        ("payments", 1, 1_592),
    ]
