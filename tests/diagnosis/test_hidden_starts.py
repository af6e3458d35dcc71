"""What a run began from where Flink shows only its newest restore, or none."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import (
    checkpoint_committed_twice,
    commits_withheld,
    no_snapshot_advanced,
    restarted_from_empty,
    restored_from_older_savepoint,
)
from bot.diagnosis._overdue import overdue_of_run
from bot.domain.diagnosis import CannotTell, Case, Examined, Excluded, Matches, Remedy
from bot.domain.evidence import Evidence
from bot.domain.findings import RepeatedCommit
from tests.cases import Tale, job_id
from tests.found import evidence, hole, repeats, twice


def went_back(*, v1: bool = True) -> Tale:
    """Run a was restored below its own commits under its job id, and brings checkpoint 2 and 3 again with 4."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2, 3).flink_runs("a", restored=1, v1=v1).completes("a", 4)
    return tale.commits("a", 4)


def fails_over(tale: Tale, *, v1: bool = True) -> Tale:
    """Flink restores it from its own checkpoint 4, which is all that it shows from then on."""
    return tale.flink_runs("a", restored=4, v1=v1).completes("a", 5).commits("a", 5)


def counted(tale: Tale, **found: object) -> Case:
    """Keys of two commits live again in a third."""
    copies = twice(20, [(tale.at("a", 2), tale.at("a", 4)), (tale.at("a", 3), tale.at("a", 4))])
    return tale.looked_at(**found).model_copy(update={"duplicates": copies})


def came_again(tale: Tale) -> RepeatedCommit:
    """The source range of checkpoint 2 came again."""
    return RepeatedCommit(
        first=tale.at("a", 2), again=tale.at("a", 4), how="same-source-range", job_id=None, checkpoint_id=None, rows=20
    )


@pytest.mark.parametrize("v1", [True, False])
def test_one_failover_later_it_is_not_ruled_out(*, v1: bool) -> None:
    """Every mode excluded itself, over twenty rows too many."""
    found = commits_withheld.examine(counted(fails_over(went_back(v1=v1), v1=v1)))

    assert isinstance(found, CannotTell)
    assert found.missing[0].startswith("the point from which run aaaaaa was first restored, which Flink no longer")


def test_a_source_range_that_came_again_proves_it() -> None:
    """Both by key and by position."""
    tale = fails_over(went_back())

    found = commits_withheld.examine(counted(tale, duplicate_commits=repeats(came_again(tale))))

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), job_id("a"), Remedy.REWIND_TABLE_AND_JOB) == (
        found.last_good,
        found.wrong_run,
        found.remedy,
    )


def test_a_commit_that_was_made_twice_is_another_fault() -> None:
    """F1 tells of the very files or the very checkpoint."""
    tale = fails_over(went_back())
    again = came_again(tale).model_copy(update={"how": "same-files"})

    assert isinstance(commits_withheld.examine(counted(tale, duplicate_commits=repeats(again))), Excluded)


@pytest.mark.parametrize("operation", ["delete", "replace"])
def test_a_table_that_begins_with_taking_rows_had_some_before(operation: str) -> None:
    """Whether the job had brought them, its only listed run cannot tell."""
    tale = Tale().commits(None, operation=operation).flink_runs("a").becomes("a", "FAILED")

    found = no_snapshot_advanced.examine(tale.looked_at())

    assert not isinstance(found, Matches)
    assert "so something lay below it" in str(found)


def test_a_checkpoint_that_completed_before_a_late_first_commit_is_owed() -> None:
    """The commit of 1 came late, after 2 had completed."""
    tale = Tale().flink_runs("a").completes("a", 1, 2).commits("a", 1).becomes("a", "FAILED")
    tale.now += tale.now - tale.runs["a"].started_at

    case = tale.looked_at()

    assert [2] == overdue_of_run(case, case.runs[0], case.observation.table.head)


COUNTS = ("duplicate_rows", "missing_positions", "duplicate_commits")
MODES = pytest.mark.parametrize(
    ("examine", "restored", "first"),
    [
        pytest.param(restored_from_older_savepoint.examine, 2, 3, id="F2"),
        pytest.param(restarted_from_empty.examine, None, 1, id="F15"),
    ],
)
Examine = Callable[[Case], Examined]


def started(restored: int | None) -> Tale:
    """Run a had committed up to 4; run b began below it, or with nothing, and is silent."""
    return Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").flink_runs("b", restored=restored)


def counted_at(tale: Tale) -> tuple[Evidence, ...]:
    """Rows are counted of the table as it is now."""
    case = tale.case()
    return tuple(evidence(task, case.window, tale.now) for task in ("ledger", *COUNTS))


def told(found: Examined) -> tuple[Remedy, tuple[str, ...]]:
    """What a match asks to be done, and to be collected."""
    assert isinstance(found, Matches)
    return found.remedy, found.asks


@MODES
def test_what_a_later_restore_committed_is_counted_too(examine: Examine, restored: int | None, first: int) -> None:
    """The run failed over after its first rows were counted, and may have committed what its state owed."""
    tale = started(restored).commits("b", first)
    counts = counted_at(tale)
    tale.now += timedelta(minutes=5)
    tale.came_from("b", first, f"s3://state/{job_id('b')}/chk-{first}").completes("b", first + 1)
    case = tale.commits("b", first + 1).looked_at(evidence=counts)

    assert told(examine(case))[0] is Remedy.REWIND_TABLE_AND_JOB


@MODES
def test_positions_that_are_still_to_come_are_not_right(examine: Examine, restored: int | None, first: int) -> None:
    """Main was rolled back as well, and its rows are not there again."""
    tale = started(restored).commits("b", first)
    gaps = hole(0).model_copy(update={"to_come": 3})

    assert (Remedy.REWIND_TABLE_AND_JOB, ()) == told(examine(tale.looked_at(gaps=gaps)))


def test_a_checkpoint_that_comes_again_after_the_evidence_is_looked_for_once_more() -> None:
    """The answer to the commit of 3 was lost: F1 was excluded by what had been looked at before."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    counts = counted_at(tale)

    rising = checkpoint_committed_twice.examine(tale.commits("a", 4).looked_at(evidence=counts))
    again = checkpoint_committed_twice.examine(tale.commits("a", 4).looked_at(evidence=counts))

    assert isinstance(rising, Excluded)
    assert isinstance(again, CannotTell)
    assert again.asks == ("duplicate_commits",)
