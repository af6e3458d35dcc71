"""What each mode says in the cases that its story does not show: exact rows, last good snapshot, what is missing."""

import pytest

from bot.diagnosis import (
    commits_withheld,
    flink_is_recovering,
    recovered_by_itself,
    restored_from_older_savepoint,
    rolled_back_while_running,
)
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.ids import CheckpointId
from tests.cases import Tale, hole, job_id, twice


def rewound() -> Tale:
    """F2 on the V2 sink: `a` reached 10, `b` was restored from 6 and committed 7 and 8."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6).commits("b", 7, 8)


def test_a_rewind_trusts_the_last_commit_before_the_wrong_run() -> None:
    """Everything that the earlier run committed was right; the rows show both copies, from above the savepoint."""
    tale = rewound()

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert (tale.at("a", 10), job_id("b")) == (found.last_good, found.wrong_run)
    assert (*(tale.at("a", c) for c in (7, 8, 9, 10)), tale.at("b", 7), tale.at("b", 8)) == found.rows
    assert Remedy.REWIND_TABLE_AND_JOB is found.remedy


def test_a_rewind_is_proven_by_the_ledger_alone_when_flink_is_down() -> None:
    """Falling checkpoint ids between two runs need no second witness."""
    tale = rewound().flink_is_down()

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert any("fall from 10" in reason for reason in found.reasons)


def test_without_flink_a_silent_run_is_neither_seen_nor_excluded() -> None:
    """Only Flink knows of a V1 run that holds its commits back."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_is_down()

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, CannotTell)
    assert "Flink REST at http://flink:8081: It refused the connection. Start Flink, then ask again." in found.missing


def test_a_rewind_that_a_later_failover_hides_is_still_found() -> None:
    """Flink shows only the newest restore; the chain remembers."""
    tale = rewound().flink_runs("b", restored=8).commits("b", 9)

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Matches)
    assert tale.at("a", 10) == found.last_good


def late_and_forgotten() -> Tale:
    """V1: `b` held 7 to 10 back and committed 12; then it failed over, and its first restore is no longer listed."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).becomes("a", "FINISHED")
    return tale.flink_runs("b", restored=6, v1=True).commits("b", 12).flink_runs("b", restored=12, v1=True)


def test_a_forgotten_restore_is_told_by_the_repeated_rows() -> None:
    """When the new run's first commit repeats the old run's keys, it was a replay, listed or not."""
    tale = late_and_forgotten()
    duplicates = twice(40, pairs=[(tale.at("a", 9), tale.at("b", 12))])

    found = restored_from_older_savepoint.examine(tale.case(duplicates=duplicates))

    assert isinstance(found, Matches)
    assert tale.at("a", 10) == found.last_good


def test_a_forgotten_restore_cannot_be_judged_before_rows_are_counted() -> None:
    """A gap above the old maximum may be V1's late commit, or ten quiet checkpoints."""
    tale = late_and_forgotten()

    before = restored_from_older_savepoint.examine(tale.case())
    after = restored_from_older_savepoint.examine(tale.case(duplicates=twice(0)))

    assert isinstance(before, CannotTell)
    assert "duplicate_rows" in before.missing
    assert isinstance(after, Excluded)


def test_a_rewind_below_the_window_is_not_todays_fault() -> None:
    """The window limits the question: what it leaves out was judged before."""
    tale = rewound().commits("b", 9, 10)

    found = restored_from_older_savepoint.examine(tale.case(since=tale.at("b", 8)))

    assert isinstance(found, Excluded)


def test_another_operators_ids_are_not_compared() -> None:
    """Two sinks count on their own; a lower id of the other one is no fall."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).commits("b", 3)
    last = tale.snapshots[-1]
    tale.snapshots[-1] = last.model_copy(update={"summary": last.summary | {"flink.operator-id": "ab" * 16}})

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)


def test_withheld_commits_name_the_checkpoints_that_never_arrived() -> None:
    """Flink calls them completed; the reason lists those at or below the old maximum, and no others."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).flink_runs("a", restored=4)
    tale.completes("a", 5, 6, 7)

    found = commits_withheld.examine(tale.case())

    assert isinstance(found, Matches)
    assert "Flink completed 5, 6 and 7 in run aaaaaa, and no snapshot carries them for it." in found.reasons
    assert (tale.at("a", 10), job_id("a")) == (found.last_good, found.wrong_run)


def test_withheld_commits_that_came_late_trust_the_commit_before_them() -> None:
    """As run on Flink 1.20.3: 5 to 7 were dropped, 8 to 11 came as one commit of 232 rows."""
    tale = Tale().flink_runs("a", v1=True).commits("a", *range(1, 11)).flink_runs("a", restored=4, v1=True)
    tale.completes("a", 5, 6, 7).flink_runs("a", restored=7, v1=True).completes("a", 8, 9, 10, 11)
    tale.commits("a", 11, rows=232).commits("a", 12)

    found = commits_withheld.examine(tale.case())

    assert isinstance(found, Matches)
    assert tale.at("a", 10) == found.last_good
    assert any("232 rows at once" in reason for reason in found.reasons)


def test_an_unknown_sink_is_not_taken_for_either() -> None:
    """While Flink lists no operators, a silent new run may be V1 or V2."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 11)).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=6, vertices=False)

    found = commits_withheld.examine(tale.case())

    assert isinstance(found, CannotTell)
    assert "the operators of run bbbbbb" in found.missing[0]


def rolled_back() -> Tale:
    """As run on Flink 1.20.3: 3 committed, 4 to 21 rolled back, 22 and 23 on top of 3."""
    return Tale().flink_runs("a").commits("a", *range(1, 22)).rolls_back_to("a", 3).commits("a", 22, 23)


def test_a_rollback_under_a_running_job_trusts_its_target() -> None:
    """The rows are what was lost and what came on top; the running writer is to be stopped."""
    tale = rolled_back()

    found = rolled_back_while_running.examine(tale.case())

    assert isinstance(found, Matches)
    assert (tale.at("a", 3), job_id("a")) == (found.last_good, found.wrong_run)
    assert {tale.at("a", c) for c in range(4, 24)} == set(found.rows)


def test_a_rollback_is_seen_without_flink() -> None:
    """The snapshot log and the chain are enough once the run has committed again."""
    found = rolled_back_while_running.examine(rolled_back().flink_is_down().case())

    assert isinstance(found, Matches)


def test_a_rollback_whose_writer_ended_names_no_run_to_stop() -> None:
    """Nothing runs, so nothing is stopped; the hole is there all the same."""
    found = rolled_back_while_running.examine(rolled_back().becomes("a", "FAILED").case())

    assert isinstance(found, Matches)
    assert found.wrong_run is None


def test_a_rollback_whose_rows_were_put_back_is_no_hole() -> None:
    """Evidence that looked and found every position outweighs the chain's jump."""
    found = rolled_back_while_running.examine(rolled_back().case(gaps=hole(0)))

    assert isinstance(found, Excluded)


def test_an_open_rollback_cannot_be_judged_without_flink() -> None:
    """Whether its writer is alive decides whether a hole will come."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 8)).rolls_back_to("a", 3).flink_is_down()

    found = rolled_back_while_running.examine(tale.case())

    assert isinstance(found, CannotTell)


def test_staged_snapshots_are_not_rolled_back() -> None:
    """Write-audit-publish leaves snapshots that never were head of main."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).stages("a", 3).commits("a", 4)

    found = rolled_back_while_running.examine(tale.case())

    assert isinstance(found, Excluded)
    assert "none in the window ever was its head" in found.reason


@pytest.mark.parametrize(
    ("duplicates", "missing", "lacks"),
    [(None, 0, "duplicate_rows"), (0, None, "missing_positions")],
)
def test_health_is_not_claimed_before_rows_were_counted(
    duplicates: int | None, missing: int | None, lacks: str
) -> None:
    """An unbroken chain does not say that its rows are right."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    case = tale.case(
        duplicates=None if duplicates is None else twice(duplicates), gaps=None if missing is None else hole(missing)
    )

    found = recovered_by_itself.examine(case)

    assert isinstance(found, CannotTell)
    assert (lacks,) == found.missing


def test_health_names_the_restore_and_the_attempt() -> None:
    """A responder sees that there was a failure, and that it is over."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=3).commits("a", 4)

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "from checkpoint 3" in found.reasons[0]
    assert "highest attempt 1" in found.reasons[0]
    assert (tale.head, None, Remedy.NOTHING) == (found.last_good, found.wrong_run, found.remedy)


@pytest.mark.parametrize(("completed", "expected"), [(13, Matches), (14, Excluded)])
def test_a_quiet_source_is_healthy_until_an_empty_commit_is_due(completed: int, expected: type) -> None:
    """Without rows the sink commits every tenth checkpoint; one more may be on its way."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, completed + 1))

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, expected)


def test_the_tables_own_limit_of_empty_commits_counts() -> None:
    """`flink.max-continuous-empty-commits` moves the point at which silence becomes suspicious."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, 20))
    tale.properties["flink.max-continuous-empty-commits"] = "50"

    found = recovered_by_itself.examine(tale.looked_at())

    assert isinstance(found, Matches)


def test_a_completed_checkpoint_ends_the_waiting() -> None:
    """After a failover the next completed checkpoint shows that the job is itself again."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).fails("a").flink_runs("a", restored=2)
    waiting = Tale().flink_runs("a").commits("a", 1, 2).fails("a")

    before, after = (
        flink_is_recovering.examine(waiting.case()),
        flink_is_recovering.examine(tale.completes("a", 3).case()),
    )

    assert isinstance(before, Matches)
    assert isinstance(after, Excluded)


@pytest.mark.parametrize(("times", "expected"), [(2, Matches), (3, Excluded)])
def test_a_restart_loop_is_not_waited_for(times: int, expected: type) -> None:
    """The third failure without a checkpoint in between is a loop."""
    tale = Tale().flink_runs("a").completes("a", 1).commits("a", 1).fails("a", times=times).becomes("a", "RESTARTING")

    found = flink_is_recovering.examine(tale.case())

    assert isinstance(found, expected)


def test_runs_of_other_jobs_are_not_this_jobs_runs() -> None:
    """Flink may answer with more than was asked for."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).flink_runs("b", restored=CheckpointId(1))
    tale.runs["b"] = tale.runs["b"].model_copy(update={"name": "clicks"})

    found = restored_from_older_savepoint.examine(tale.case())

    assert isinstance(found, Excluded)
