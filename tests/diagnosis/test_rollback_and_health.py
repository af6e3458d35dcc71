"""Rollbacks under a running job, health and recovery: what each rests on, and what it must not conclude."""

import pytest

from bot.diagnosis import (
    flink_is_recovering,
    recovered_by_itself,
    rolled_back_while_running,
)
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from tests.cases import Tale, job_id
from tests.found import hole


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


@pytest.mark.parametrize(("since", "expected"), [(3, Matches), (22, Excluded)])
def test_a_rollback_below_the_window_is_not_todays_fault(since: int, expected: type) -> None:
    """The target itself is the window's lower edge, and still counts."""
    tale = rolled_back()

    found = rolled_back_while_running.examine(tale.case(since=tale.at("a", since)))

    assert isinstance(found, expected)


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
    ("field", "task"),
    [
        ("duplicates", "duplicate_rows"),
        ("gaps", "missing_positions"),
        ("duplicate_commits", "duplicate_commits"),
        ("leaked", "leaked_manifests"),
        ("unreadable", "unreadable_files"),
    ],
)
def test_health_is_not_claimed_before_everything_was_looked_at(field: str, task: str) -> None:
    """An unbroken chain does not say that its rows are right, nor that its files can be read."""
    case = Tale().flink_runs("a").commits("a", 1, 2, 3).looked_at().model_copy(update={field: None})

    found = recovered_by_itself.examine(case)

    assert isinstance(found, CannotTell)
    assert (task,) == found.missing


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
