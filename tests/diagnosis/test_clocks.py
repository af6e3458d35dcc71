"""A commit bears the clock of who made it, a restore that of the JobManager: seconds between them tell no order."""

from datetime import timedelta

import pytest

from bot.diagnosis import commit_not_made_yet, commits_withheld, recovered_by_itself
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.ids import JobId
from tests.cases import Tale, job_id


def failed_over(*, commit_s: float, triggered_s: float | None = None, commits_on: bool = False) -> Tale:
    """`a` has 1 to 3 on main and was restored from 3. Its commit of 4 bears a time that lies so many seconds after the
    restore (below zero: before); Flink triggered 4 so long after it, or does not list it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).flink_runs("a", restored=3)
    restored = tale.runs["a"].restored
    assert restored is not None
    tale.commits("a", 4)
    stamped = tale.snapshots[-1].model_copy(update={"committed_at": restored.at + timedelta(seconds=commit_s)})
    tale.snapshots[-1] = stamped
    if triggered_s is not None:
        tale.completes("a", 4)
        done = tale.runs["a"].checkpoints[0]
        at = restored.at + timedelta(seconds=triggered_s)
        run = tale.runs["a"].model_copy(update={"checkpoints": (done.model_copy(update={"triggered_at": at}),)})
        tale.runs["a"] = run
    return tale.commits("a", 5) if commits_on else tale


def test_a_commit_that_flink_triggered_after_the_restore_is_no_rewind() -> None:
    """Checkpoints and restores are told by one clock: the commit's own, a second behind, accuses nobody."""
    case = failed_over(commit_s=-1, triggered_s=2).looked_at()

    withheld, healthy = commits_withheld.examine(case), recovered_by_itself.examine(case)

    assert isinstance(withheld, Excluded)
    assert isinstance(healthy, Matches)


def test_a_commit_that_flink_triggered_before_the_restore_is_one() -> None:
    """Whatever the commit's own clock says: a second ahead of the JobManager's it hides nothing."""
    tale = failed_over(commit_s=1, triggered_s=-2)

    found = commits_withheld.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert (job_id("a"), tale.at("a", 4)) == (found.wrong_run, found.last_good)


@pytest.mark.parametrize("commit_s", [-4, -1, 0, 1, 4])
def test_closer_than_clocks_differ_nobody_can_tell(commit_s: float) -> None:
    """Neither that the run was set back, nor that it is healthy, nor that its commits come by waiting."""
    tale = failed_over(commit_s=commit_s)
    case = tale.looked_at()

    told = [commits_withheld.examine(case), recovered_by_itself.examine(case)]

    assert [] == [found for found in told if not isinstance(found, CannotTell)]
    assert "two clocks" in told[0].missing[0] if isinstance(told[0], CannotTell) else False


@pytest.mark.parametrize(("commit_s", "is_withheld"), [(-5, True), (-60, True), (5, False), (60, False)])
def test_further_apart_the_times_tell(commit_s: float, is_withheld: bool) -> None:
    """No cluster's clocks differ by more."""
    found = commits_withheld.examine(failed_over(commit_s=commit_s).looked_at())

    assert isinstance(found, Matches if is_withheld else Excluded)


def test_what_waits_is_not_promised_to_come_while_the_order_is_not_told() -> None:
    """After a rewind under one id the sink skips them (F3); after a failover it commits them (F11)."""
    tale = failed_over(commit_s=-1).completes("a", 5, 6, 7, 8).leaves_manifest("a", 5, 6, 7, 8)

    found = commit_not_made_yet.examine(tale.looked_at())

    assert isinstance(found, CannotTell)


def test_a_run_that_has_committed_on_without_a_hole_was_not_set_back() -> None:
    """The doubt ends by itself: what a sink skips is missing on the table."""
    tale = failed_over(commit_s=-1, commits_on=True)

    told = recovered_by_itself.examine(tale.looked_at())
    unread = commits_withheld.examine(tale.case())

    assert isinstance(told, Matches)
    assert isinstance(unread, CannotTell)


def test_a_last_commit_beside_the_start_of_the_next_run_is_no_second_writer() -> None:
    """`b` was restored from 2 of `a`, whose commit of 4 bears a time a second later: `a` did not go on beside it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4).becomes("a", "CANCELED").flink_runs("b", restored=2)
    restored = tale.runs["b"].restored
    assert restored is not None
    late = tale.snapshots[-1].model_copy(update={"committed_at": restored.at + timedelta(seconds=1)})
    tale.snapshots[-1] = late

    found = commits_withheld.rewinds_in(tale.looked_at())

    assert [(JobId(job_id("b")), 4, False)] == [(r.run, r.reached, r.is_interleaved) for r in found]
