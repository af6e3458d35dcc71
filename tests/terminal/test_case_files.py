"""A saved case gives the same answer anywhere, and what is no saved case says so."""

import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.case_file import raw_of, read_case, write_case
from bot.bootstrap import failure_modes
from bot.cli.diagnosing import save
from bot.diagnosis._examine import diagnose
from bot.domain.diagnosis import SavedCase
from bot.domain.errors import BadConfiguration
from bot.domain.masking import Masking
from tests.cases import Tale


def _saved() -> SavedCase:
    """Run b was restored from below what run a had committed."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).flink_runs("b", 2).commits("b", 3, 4, 5)
    case = tale.looked_at(duplicates=20)
    return SavedCase(
        saved_at=datetime(2026, 11, 21, tzinfo=UTC),
        version="0.1.0",
        case=case,
        diagnosis=diagnose(case, failure_modes()),
        left_out=(),
    )


def test_a_saved_case_gives_the_same_answer(tmp_path: Path) -> None:
    """Every mode says the very same of the case that was read back."""
    saved = _saved()
    write_case(tmp_path / "a.case", saved, {}, Masking())

    found = read_case(tmp_path / "a.case")

    assert "F2" in found.diagnosis.codes
    assert saved.diagnosis == diagnose(found.case, failure_modes())


def test_raw_sources_come_back_by_their_address(tmp_path: Path) -> None:
    """Two files of one name stay apart."""
    raw = {"file:/state/chk-1/_metadata": b"one", "file:/state/chk-2/_metadata": b"two", "http://flink/jobs/a/": b"{}"}
    write_case(tmp_path / "a.case", _saved(), raw, Masking())

    assert raw == raw_of(tmp_path / "a.case")


def test_an_existing_file_is_never_overwritten(tmp_path: Path) -> None:
    """It may be the only trace of another incident."""
    (tmp_path / "a.case").write_text("mine")

    with pytest.raises(BadConfiguration, match="could not be written"):
        write_case(tmp_path / "a.case", _saved(), {}, Masking())

    assert "mine" == (tmp_path / "a.case").read_text()
    assert ["a.case"] == [each.name for each in tmp_path.iterdir()]


def test_a_file_that_is_there_is_told_before_anything_is_read(tmp_path: Path) -> None:
    """A diagnosis takes half a minute: nobody waits for it to hear that it cannot be kept."""
    (tmp_path / "a.case").write_text("mine")

    with pytest.raises(BadConfiguration, match="could not be written"):
        save("sales.orders", to=tmp_path / "a.case", config=tmp_path / "is-never-read.yaml")


def test_what_is_no_text_and_holds_a_secret_stays_behind(tmp_path: Path) -> None:
    """Nothing else of its length could stand there, so the whole source is left out, and that is said."""
    raw = {"file:/state/chk-1/_metadata": b"\0\1hunter-2222\0", "http://flink/": b'{"p": "hunter-2222"}'}

    write_case(tmp_path / "a.case", _saved(), raw, Masking(["hunter-2222"]))

    assert b"hunter" not in b"".join(raw_of(tmp_path / "a.case").values())
    assert {"http://flink/"} == set(raw_of(tmp_path / "a.case"))
    assert "chk-1/_metadata: it holds what looks like a secret" in read_case(tmp_path / "a.case").left_out[0]


def test_a_file_of_before_without_sources_is_read(tmp_path: Path) -> None:
    """What is not there is not missed."""
    with zipfile.ZipFile(tmp_path / "a.case", "w") as file:
        file.writestr("case.json", _saved().model_dump_json(exclude={"cut"}))

    assert {} == raw_of(tmp_path / "a.case")
    assert () == read_case(tmp_path / "a.case").cut


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"{}"])
def test_another_file_is_not_taken_for_a_case(tmp_path: Path, content: bytes) -> None:
    """A wrong or cut file says what was expected."""
    (tmp_path / "a.case").write_bytes(content)

    with pytest.raises(BadConfiguration, match="is not a saved case"):
        read_case(tmp_path / "a.case")


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    """No traceback for a typing error."""
    with pytest.raises(BadConfiguration, match="FileNotFoundError"):
        read_case(tmp_path / "none.case")


def test_a_case_of_another_format_names_the_first_difference(tmp_path: Path) -> None:
    """A later format is refused, not half understood."""
    changed = _saved().model_dump_json().replace('"format":1', '"format":2', 1)
    with zipfile.ZipFile(tmp_path / "a.case", "w") as file:
        file.writestr("case.json", changed)

    with pytest.raises(BadConfiguration, match=r"found at format"):
        read_case(tmp_path / "a.case")


def _garbled(path: Path, packed: int) -> None:
    """Some bytes in the middle of what is packed are others."""
    with zipfile.ZipFile(path, "w", packed) as file:
        file.writestr("case.json", '{"a": 1}' * 5000)
    content = bytearray(path.read_bytes())
    content[50:60] = b"\xff" * 10
    path.write_bytes(content)


def _needs_password(path: Path) -> None:
    """By a flag at each of the file's two headers."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("case.json", "{}")
        file.writestr("raw/index.json", "{}")
    content = bytearray(path.read_bytes())
    for header, flags in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        at = content.find(header)
        while at >= 0:
            content[at + flags] |= 1
            at = content.find(header, at + 1)
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [lambda path: _garbled(path, zipfile.ZIP_DEFLATED), lambda path: _garbled(path, zipfile.ZIP_LZMA), _needs_password],
    ids=["deflated", "lzma", "with a password"],
)
def test_a_file_that_cannot_be_unpacked_is_not_taken_for_a_case(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    """Said as of any other file, and not as a trace of Python."""
    spoil(tmp_path / "a.case")

    with pytest.raises(BadConfiguration, match="is not a saved case"):
        read_case(tmp_path / "a.case")


def test_sources_behind_a_password_are_said_to_be_unread(tmp_path: Path) -> None:
    """As those of a file that was cut off."""
    _needs_password(tmp_path / "a.case")

    with pytest.raises(BadConfiguration, match="The sources in"):
        raw_of(tmp_path / "a.case")


def test_an_index_that_is_too_large_is_not_unpacked(tmp_path: Path) -> None:
    """Some kilobytes of a file may claim a memory full of names."""
    with zipfile.ZipFile(tmp_path / "a.case", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("case.json", "{}")
        file.writestr("raw/index.json", b" " * (16 * 1024 * 1024) + b"{}")

    with pytest.raises(BadConfiguration, match="The sources in"):
        raw_of(tmp_path / "a.case")
