"""What looks like a job that went back, or like two that write, and did no harm."""

import pytest

from bot.diagnosis import (
    commits_withheld,
    recovered_by_itself,
    restarted_from_empty,
    restored_from_older_savepoint,
    two_jobs_write_the_table,
)
from bot.domain.diagnosis import Excluded, Matches, Remedy
from bot.domain.ids import DRAINED, OperatorId
from bot.domain.snapshot import REPAIR
from tests.cases import Tale, job_id

OTHER_SINK = OperatorId("1e" * 16)
NOTHING = {"total-records": "40", "total-data-files": "4", "total-delete-files": "0", "changed-partition-count": "0"}


def through(tale: Tale, operator: OperatorId) -> Tale:
    """The newest commit came through another sink."""
    last = tale.snapshots[-1]
    tale.snapshots[-1] = last.model_copy(update={"summary": {**last.summary, "flink.operator-id": operator}})
    return tale


def replayed(tale: Tale) -> Tale:
    """Run b read again from checkpoint 4 what run a had committed up to 8."""
    tale.flink_runs("a").commits("a", *range(1, 9)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=4).commits("b", *range(5, 12)).completes("b", 11)


def test_a_commit_of_nothing_above_the_restore_point_is_not_read_again() -> None:
    """Flink commits an empty checkpoint from time to time; the new run has another job id."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 14)
    for place in (-2, -1):
        told = {k: v for k, v in tale.snapshots[place].summary.items() if place == -2 or not k.startswith("added")}
        tale.snapshots[place] = tale.snapshots[place].model_copy(update={"summary": told | NOTHING})
    tale.becomes("a", "FAILED").flink_runs("b", restored=13).completes("b", 14, 15).commits("b", 15)

    case = tale.looked_at()

    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)
    assert isinstance(commits_withheld.examine(case), Excluded)


def test_a_replay_of_an_upsert_table_is_told_and_nothing_is_taken_back() -> None:
    """The same rows replaced themselves."""
    tale = Tale()
    tale.properties["write.upsert.enabled"] = "true"

    found = restored_from_older_savepoint.examine(replayed(tale).looked_at(missing=40))

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.TELL_CONSUMERS
    assert "readers see older values" in found.reasons[-1]


def test_a_replay_that_a_repair_has_cleaned_up_is_not_to_be_rewound() -> None:
    """The copies were taken out by an approved repair; the fall of the ids stays in the history."""
    tale = replayed(Tale()).commits(None, operation="delete")
    last = tale.snapshots[-1]
    tale.snapshots[-1] = last.model_copy(update={"summary": {**last.summary, REPAIR: "p-1"}})
    assert tale.snapshots[-1].is_repair

    found = restored_from_older_savepoint.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.TELL_CONSUMERS
    assert "nothing to take back any more" in found.reasons[-1]


def test_a_replay_that_repeats_rows_is_still_rewound() -> None:
    """One key too many, and nothing is excused."""
    found = restored_from_older_savepoint.examine(replayed(Tale()).looked_at(duplicates=1))

    assert isinstance(found, Matches)
    assert found.remedy is Remedy.REWIND_TABLE_AND_JOB


def test_a_replay_that_did_no_harm_hides_no_later_one() -> None:
    """Run b came out whole, and run c was restored from below it since: what b read comes again."""
    case = replayed(Tale()).becomes("b", "CANCELED").flink_runs("c", restored=9).looked_at()

    found = restored_from_older_savepoint.examine(case)

    assert isinstance(found, Matches)
    assert (job_id("c"), Remedy.REWIND_TABLE_AND_JOB) == (found.wrong_run, found.remedy)


@pytest.mark.parametrize("duplicates", [0, 20])
def test_a_backfill_beside_the_job_is_a_fork_only_if_rows_live_twice(duplicates: int) -> None:
    """By default the V2 sink's operator id is of the table's name: each INSERT into the table bears the same."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).commits("b", 1, 2).commits("a", 6, 7).completes("a", 6, 7)
    case = tale.looked_at(duplicates=duplicates)

    forked = two_jobs_write_the_table.examine(case)

    assert isinstance(forked, Matches if duplicates else Excluded)
    assert isinstance(restarted_from_empty.examine(case), Excluded)


def test_two_runs_that_flink_lists_are_a_fork_without_any_row_twice() -> None:
    """Both bear the job's name."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b", restored=2).commits("b", 3).commits("a", 3)

    assert isinstance(two_jobs_write_the_table.examine(tale.looked_at()), Matches)


def test_two_sinks_of_one_job_commit_the_same_checkpoints() -> None:
    """Each counts its own ids."""
    tale = Tale().flink_runs("a", v1=True)
    for checkpoint in range(1, 6):
        tale.completes("a", checkpoint).commits("a", checkpoint)
        through(tale.commits("a", checkpoint), OTHER_SINK)

    case = tale.looked_at()

    assert isinstance(restarted_from_empty.examine(case), Excluded)
    assert isinstance(recovered_by_itself.examine(case), Matches)


def test_a_bounded_backfill_through_another_sink_leaves_the_job_healthy() -> None:
    """It ends with Long.MAX_VALUE, which stands only against its own sink."""
    tale = Tale().flink_runs("a", v1=True).commits("a", 1, 2, 3).completes("a", 3)
    through(tale.commits("b", DRAINED), OTHER_SINK).completes("a", 4).commits("a", 4)

    assert isinstance(recovered_by_itself.examine(tale.looked_at()), Matches)


def test_a_failover_to_its_own_checkpoint_does_not_make_an_empty_start_a_rewind() -> None:
    """Flink's latest restore names checkpoint 3 of the very run that began with nothing."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 9)).completes("a", 8).becomes("a", "FAILED")
    tale.flink_runs("b").completes("b", 1, 2).commits("b", 2, 3).completes("b", 3)
    tale.flink_runs("b", restored=3).completes("b", 4).commits("b", 4)
    case = tale.looked_at(duplicates=20)

    assert isinstance(restarted_from_empty.examine(case), Matches)
    assert isinstance(restored_from_older_savepoint.examine(case), Excluded)


@pytest.mark.parametrize("v1", [True, False])
def test_what_is_withheld_comes_with_v1_only(*, v1: bool) -> None:
    """V2 takes a committed id for done and lets the files go: nobody should wait for them."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", *range(1, 9)).flink_runs("a", restored=4, v1=v1).completes("a", 5)

    found = commits_withheld.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert any("all of it comes in one commit" in reason for reason in found.reasons) is v1
