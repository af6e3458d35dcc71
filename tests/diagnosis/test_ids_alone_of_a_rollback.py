"""A rollback of which only checkpoint ids tell that a run went on from beyond it, as Flink is down: positions that were
found since, however long ago, speak against them."""

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Case, Matches
from bot.domain.evidence import Evidence, Verdict
from bot.domain.findings import GapsFinding
from bot.domain.ids import EvidenceId, SnapshotId
from bot.domain.table import Window
from tests.cases import Tale

WHOLE = GapsFinding(lowest=0, highest=49, positions=50, missing=0, gaps=())


def went_on(run: str = "b") -> Tale:
    """Main went from 8 back to 3 while the job was down; the next commit carries 9, and a compaction came since."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).becomes("a", "CANCELED").rolls_back_to("a", 3)
    return tale.flink_runs(run, restored=8).commits(run, 9, 10).commits(None, operation="replace").flink_is_down()


def looked_up_to(tale: Tale, until: SnapshotId, gaps: GapsFinding = WHOLE) -> Case:
    """`missing_positions` as it was asked then."""
    evidence = Evidence(
        verdict=Verdict.RULED_OUT, headline="None is missing.", id=EvidenceId("1"), task="missing_positions",
        task_version=1, question="?", metadata_location="v1.metadata.json", head=until,
        window=Window(since=None, until=until), at=tale.now, took_ms=1, bytes_read=0,
    )  # fmt: skip
    return tale.looked_at(gaps=gaps, evidence=(evidence,))


def test_positions_found_since_it_went_on_keep_ids_from_accusing() -> None:
    """They are to be looked for once more, and Flink is to be asked."""
    tale = went_on()

    found = rolled_back_while_running.examine(looked_up_to(tale, tale.at("b", 9)))

    assert isinstance(found, CannotTell)
    assert "Flink REST" in found.missing[0]
    assert "missing_positions, once more" in found.missing[1]


@pytest.mark.parametrize("before", ["its first commit", "the rollback"])
def test_what_was_found_before_says_nothing(before: str) -> None:
    """The hole came later."""
    tale = went_on()
    until = tale.at("a", 3) if before == "its first commit" else tale.at("a", 8)

    assert isinstance(rolled_back_while_running.examine(looked_up_to(tale, until)), Matches)


def test_nor_where_a_position_is_missing_or_to_come() -> None:
    """An old look that found a hole speaks for one."""
    tale = went_on()
    holes = [{"missing": 10, "positions": 40}, {"to_come": 10}]
    cases = [looked_up_to(tale, tale.at("b", 10), WHOLE.model_copy(update=hole)) for hole in holes]

    assert [Matches] * 2 == [type(rolled_back_while_running.examine(case)) for case in cases]


def test_a_run_that_lost_some_itself_knows_where_it_stood() -> None:
    """Its ids tell."""
    tale = went_on("a")

    assert isinstance(rolled_back_while_running.examine(looked_up_to(tale, tale.at("a", 9))), Matches)
