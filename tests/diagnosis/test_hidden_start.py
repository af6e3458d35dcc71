"""A run whose first restore is hidden, and that has brought no rows, may have begun anywhere."""

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself
from bot.diagnosis._overdue import overdue_of_run
from bot.diagnosis._rightness import hidden_start
from bot.domain.diagnosis import CannotTell, Matches
from tests.cases import Tale, job_id


def taken_over() -> Tale:
    """Run b took over from a, commits without rows, and was restored since from a checkpoint of its own."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b", restored=2)
    return tale.commits("b", 12, rows=0).came_from("b", 12, f"s3://state/{job_id('b')}/chk-12")


def test_it_is_open_until_its_first_rows_are_counted() -> None:
    """Then copies, or a hole, would have been found."""
    tale = taken_over()

    silent = recovered_by_itself.examine(tale.looked_at())
    going_on = recovered_by_itself.examine(tale.commits("b", 13).looked_at())

    assert isinstance(silent, CannotTell)
    assert any("whose first restore Flink no longer lists" in each for each in silent.missing)
    assert isinstance(going_on, Matches)


def test_rows_that_nobody_has_counted_tell_nothing() -> None:
    """They came, and evidence of copies was not collected."""
    left = hidden_start(taken_over().commits("b", 13).case())

    assert left is not None
    assert "duplicate_rows" in left.asks


def test_a_list_of_all_its_checkpoints_tells_where_it_began() -> None:
    """Ids rise by one from the restored one."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").flink_runs("b", restored=2)
    tale.remembers("b", 3, 4, 5).commits("b", 5, rows=0).came_from("b", 5, f"s3://state/{job_id('b')}/chk-5")

    assert hidden_start(tale.looked_at()) is None


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
