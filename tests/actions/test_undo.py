"""An undo is built from what was really done, and refused with the reason where it would lose what others wrote."""

import os
import shutil

import pytest

from bot.actions import (
    forward_job,
    protect_last_commit,
    resolve_fork,
    restart_from_stop_savepoint,
    rewind_table_and_job,
    take_savepoint,
    undo_proposal,
)
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import JobId
from bot.ports import Stopped
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import ORDERS, job

pytestmark = pytest.mark.smoke


def rewound(scene: Scene) -> ProposalView:
    """Run b repeats checkpoint 3 and is rewound: 40 rows become 30, and the new run goes on."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))
    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)
    assert scene.positions() == list(range(60))
    return view


def test_a_rewind_is_undone_to_the_very_state_that_it_left(scene: Scene) -> None:
    """Main is back at the tag, the wrong run's state goes on, and what the new run had read is read again."""
    done = rewound(scene)
    left = scene.table.ref(f"{scene.incident}-left-p001")
    plan = scene.plan(undoes=done.proposal.id, number=2)

    view = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert left in scene.table.chain_ids
    assert scene.positions() == sorted([*range(70), *range(30, 40)])
    assert len(scene.alive) == 1
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_an_undo_can_be_undone(scene: Scene) -> None:
    """It is a proposal like any other: the rewound state comes back."""
    done = rewound(scene)
    first = scene.plan(undoes=done.proposal.id, number=2)
    undone = scene.carries_out(undo_proposal.propose(first), first)
    plan = scene.plan(undoes=undone.proposal.id, number=3)

    scene.carries_out(undo_proposal.propose(plan), plan)

    positions = scene.positions()
    assert positions == list(range(len(positions)))


def test_an_undo_that_would_lose_another_writers_commit_is_refused_with_its_name(scene: Scene) -> None:
    """Nobody's rows leave main because somebody changes their mind."""
    done = rewound(scene)
    scene.backfill_commits()

    with pytest.raises(
        Refused, match=r"was committed since by spark app local-17 at .* UTC: an undo would lose its rows"
    ):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_an_undo_without_the_stopped_runs_state_is_refused(scene: Scene) -> None:
    """The job would lose or repeat rows; the refusal says what was looked for."""
    done = rewound(scene)
    for savepoint in scene.flink.savepoints.glob("savepoint-bbbbbb-*"):
        shutil.rmtree(savepoint)

    with pytest.raises(Refused, match="Expected a savepoint of run bbbbbb that pairs with"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_the_state_of_an_earlier_start_under_the_same_id_is_not_taken(scene: Scene) -> None:
    """It carries the same checkpoint id, and its source stands elsewhere (F14)."""
    older = scene.flink.savepoint(job("a")).rename(scene.flink.savepoints / "savepoint-earlier-start")
    committed_at = scene.table.chain[0].committed_at.timestamp()
    os.utime(older / "_metadata", (committed_at, committed_at))
    scene.flink.ends(job("a"), "CANCELED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    scene.flink.checkpoints(job("a"), 3)
    first = scene.plan()
    done = scene.carries_out(restart_from_stop_savepoint.propose(first), first)
    shutil.rmtree(scene.flink.savepoints / "savepoint-aaaaaa-000000000003")

    with pytest.raises(Refused, match=r"Expected a savepoint of run aaaaaa that pairs with .*; found .*earlier-start"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_an_undo_while_somebody_elses_run_is_alive_is_refused(scene: Scene) -> None:
    """The state of today decides."""
    done = rewound(scene)
    scene.flink.stop(JOB, scene.alive[0])
    scene.flink.submit(job("d"), at_checkpoint=6)

    with pytest.raises(Refused, match="found run dddddd"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))


def test_a_restart_is_undone_with_the_rows_of_the_new_run_taken_off(scene: Scene) -> None:
    """They are read again by the run that goes on from the old state."""
    first = scene.plan()
    done = scene.carries_out(restart_from_stop_savepoint.propose(first), first)
    plan = scene.plan(undoes=done.proposal.id, number=2)

    view = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))
    assert [c for c in scene.calls if c == "stop"] == ["stop", "stop"]


def test_where_no_run_was_alive_none_is_started(scene: Scene) -> None:
    """As it was before means: standing still."""
    scene.flink.stop(JOB, job("a"))
    first = scene.plan()
    done = scene.carries_out(forward_job.propose(first), first)
    plan = scene.plan(undoes=done.proposal.id, number=2)

    scene.carries_out(undo_proposal.propose(plan), plan)

    assert scene.alive == []
    assert scene.positions() == list(range(30))


def test_a_proposal_that_was_refused_halfway_is_undone_as_far_as_it_came(scene: Scene) -> None:
    """The job was stopped and the table was not moved: the job is started again from that stop."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))
    proposal = rewind_table_and_job.propose(plan)
    stop = scene.flink.stop

    def stop_then_backfill(name: str, job_id: JobId, **how: bool) -> Stopped:
        stopped = stop(name, job_id)
        scene.backfill_commits()
        return stopped

    scene.flink.stop = stop_then_backfill  # type: ignore[method-assign]
    done = scene.carries_out(proposal, plan)
    scene.flink.stop = stop  # type: ignore[method-assign]
    again = scene.plan(undoes=done.proposal.id, number=2)

    view = scene.carries_out(undo_proposal.propose(again), again)

    assert done.state is ProposalState.REFUSED
    assert view.state is ProposalState.APPLIED
    assert scene.calls[-1] == "start"
    assert len(scene.alive) == 1
    assert {900, 901, 902} <= set(scene.positions())


def test_a_savepoint_is_undone_by_going_on_from_it(scene: Scene) -> None:
    """Nothing leaves main."""
    first = scene.plan()
    done = scene.carries_out(take_savepoint.propose(first), first)
    plan = scene.plan(undoes=done.proposal.id, number=2)

    scene.carries_out(undo_proposal.propose(plan), plan)

    assert scene.positions() == list(range(50))
    assert len(scene.alive) == 1


def test_tags_are_taken_away_again_and_only_those(scene: Scene) -> None:
    """A tag that somebody else has set stays."""
    first = scene.plan()
    before = {ref.name for ref in scene.catalog.load(ORDERS).refs}
    done = scene.carries_out(protect_last_commit.propose(first), first)
    plan = scene.plan(undoes=done.proposal.id, number=2)

    view = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert {ref.name for ref in scene.table.refs} == before


def test_a_second_writer_is_never_started(scene: Scene) -> None:
    """The stop of a fork cannot be undone, and says so before and after."""
    scene.flink.submit(job("b"), at_checkpoint=3)
    first = scene.plan(wrong_run=job("b"))
    done = scene.carries_out(resolve_fork.propose(first), first)

    with pytest.raises(Refused, match="Waterline starts no second writer"):
        undo_proposal.propose(scene.plan(undoes=done.proposal.id, number=2))

    assert "It cannot be undone here" in done.proposal.undo


def test_what_has_not_ended_cannot_be_undone(scene: Scene) -> None:
    """First it is known what was done."""
    first = scene.plan()
    made = scene.approved(take_savepoint.propose(first), first)

    with pytest.raises(Refused, match="it is approved, with 0 of 3 steps done"):
        scene.plan(undoes=made.id, number=2)
