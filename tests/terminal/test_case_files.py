"""A saved case gives the same answer anywhere, and what is no saved case says so."""

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.case_file import raw_of, read_case, write_case
from bot.adapters.case_sources import bodies, raw_sources
from bot.bootstrap import failure_modes
from bot.diagnosis._examine import diagnose
from bot.domain.errors import BadConfiguration
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import CheckpointId
from bot.domain.looked import Seen
from bot.domain.masking import Masking
from bot.domain.saved_case import SavedCase
from bot.domain.table import TableState
from tests.cases import NOON, Tale


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


def test_only_what_holds_no_value_of_a_row_leaves_the_machine_unasked() -> None:
    """A checkpoint's file holds state, a stack trace may quote a record, a job's parameters may be secrets."""
    job = "http://flink:8081/jobs/" + "a" * 32
    tape = {
        job: b"1",
        f"{job}/exceptions?maxExceptions=20": b"2",
        f"{job}/config": b"3",
        f"{job}/checkpoints/config": b"4",
    }
    stored = StoredCheckpoint(
        path="file:/state/chk-1",
        kind=CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(1),
        job_id=None,
        written_at=NOON,
    )
    case = _saved().case
    points = Seen[StoredCheckpoint](source="storage", values=(stored,))
    table = TableState(
        **{
            **case.observation.table.model_dump(),
            "snapshots": (),
            "head": None,
            "metadata_location": "file:/nowhere/v1.json",
        }
    )
    world = case.observation.model_copy(update={"checkpoints": points, "table": table})
    case = case.model_copy(update={"observation": world})

    told = [raw_sources(case, with_values=kept)[1] for kept in (False, True)]

    assert {job, f"{job}/checkpoints/config"} == set(bodies(tape, with_values=False))
    assert set(tape) == set(bodies(tape, with_values=True))
    assert [False, True] == [any("chk-1/_metadata" in each for each in left_out) for left_out in told]


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
