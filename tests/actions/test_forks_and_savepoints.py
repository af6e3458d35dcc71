"""Containing a fork, keeping a savepoint, and protecting what a restore must find."""

import pytest

from bot.actions import (
    change_operator_uid,
    protect_last_commit,
    resolve_fork,
    rewind_table_and_job,
    take_savepoint,
)
from bot.domain.errors import Refused, Superseded
from bot.domain.execution import ProposalState
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job


def forked(scene: Scene) -> None:
    """Run b was started beside run a from its savepoint; both commit."""
    shared = scene.flink.savepoint(job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=shared)
    scene.flink.checkpoints(job("b"), 1)
    scene.flink.checkpoints(job("a"), 1)


def test_the_fork_is_stopped_and_the_other_run_goes_on(scene: Scene) -> None:
    """Containment first: one stop, no row leaves, the run that came first is not touched."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b"))

    view = scene.carries_out(resolve_fork.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.alive == [job("a")]
    assert scene.calls == ["stop"]
    assert all(check.passed for check in scene.checked(view))


def test_a_fork_that_stands_still_has_its_rows_taken_back_with_the_other_run(scene: Scene) -> None:
    """The rewind that the diagnosis then asks for goes back to before its first commit; each position is there once."""
    good = scene.snapshot("a", 3)
    forked(scene)
    first = scene.plan(wrong_run=job("b"))
    scene.carries_out(resolve_fork.propose(first), first)
    plan = scene.plan(wrong_run=job("b"), last_good=good, number=2)

    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))
    assert len(scene.alive) == 1
    with pytest.raises(Refused, match="It is not clear which run to stop"):
        resolve_fork.propose(scene.plan(wrong_run=job("b")))


def test_a_third_run_ends_the_stop_before_anything_is_done(scene: Scene) -> None:
    """Approved was: these two, and no other."""
    forked(scene)
    plan = scene.plan(wrong_run=job("b"))
    made = scene.approved(resolve_fork.propose(plan), plan)
    scene.flink.submit(job("c"), at_checkpoint=4)

    with pytest.raises(Superseded, match="to be alive, and no other; found"):
        scene.executions.begin(scene.incident, made.id, by=plan.by)

    assert scene.calls == []


def test_which_of_two_runs_is_the_fork_is_not_guessed(scene: Scene) -> None:
    """Where the diagnosis names a run that is not alive, people decide."""
    forked(scene)

    with pytest.raises(Refused, match="It is not clear which run to stop"):
        resolve_fork.propose(scene.plan(wrong_run=job("c")))


def test_a_savepoint_is_proven_to_pair_and_its_table_state_is_kept(scene: Scene) -> None:
    """The tag names checkpoint and day; the record has path, snapshot, schema and code."""
    plan = scene.plan()
    scene.flink.checkpoints(job("a"), 2)

    view = scene.carries_out(take_savepoint.propose(plan), plan)

    tag = f"savepoint-5-{plan.at:%Y%m%d}-p001"
    kept, terms = view.done[2].result, {term.name: term.says for term in view.proposal.preview.recorded}
    assert scene.table.ref(tag) == scene.snapshot("a", 5)
    assert (kept["checkpoint"], kept["tag"], kept["code"]) == ("5", tag, "test")
    assert kept["savepoint"].endswith("savepoint-aaaaaa-000000000005")
    assert scene.alive == []
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)
    assert terms["Authoritative"].startswith("for 7 days.")


def test_a_savepoint_that_does_not_pair_is_not_tagged(scene: Scene) -> None:
    """A commit that arrives with the stop makes it another state; the refusal says that the run has ended."""
    plan = scene.plan()
    proposal = take_savepoint.propose(plan)
    stop = scene.flink.stop

    def stop_and_lose_it(name: str, job_id, **how):  # type: ignore[no-untyped-def]
        stopped = stop(name, job_id, **how)
        (scene.flink.savepoints / f"savepoint-{job_id[:6]}-{3:012x}" / "_metadata").write_bytes(b"cut")
        return stopped

    scene.flink.stop = stop_and_lose_it  # type: ignore[method-assign]

    view = scene.carries_out(proposal, plan)

    assert view.state is ProposalState.REFUSED
    assert [ref.name for ref in scene.table.refs if ref.name.startswith("savepoint-")] == []


def test_the_newest_commit_of_each_run_gets_a_tag(scene: Scene) -> None:
    """Also that of a run which has ended: it may have to be restored."""
    path = scene.flink.stop(JOB, job("a")).savepoint
    scene.flink.start(JOB, path or "", job("b"))
    plan = scene.plan()

    view = scene.carries_out(protect_last_commit.propose(plan), plan)

    tags = {ref.snapshot_id for ref in scene.table.refs if ref.name.startswith("last-")}
    assert tags == {scene.snapshot("a", 3), scene.snapshot("b", 5)}
    assert all(check.passed for check in scene.checked(view))
    with pytest.raises(Refused, match="nothing to protect"):
        protect_last_commit.propose(scene.plan())


def test_a_uid_is_changed_by_people_with_every_step_written_out(scene: Scene) -> None:
    """It stands in the job's own code; the refusal names the run, the point, the setting and the proof."""
    scene.flink.savepoint(job("a"))

    with pytest.raises(Refused) as refused:
        change_operator_uid.propose(scene.plan())

    said = str(refused.value)
    assert "Cancel run aaaaaa" in said
    assert "savepoint-aaaaaa-000000000003 (checkpoint 3) with allowNonRestoredState=true" in said
    assert "no source position was counted" in said
