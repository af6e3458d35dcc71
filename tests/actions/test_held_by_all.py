"""What an action of one's own forgets to hold is held, or refused, and what an undo means."""

import pytest

from bot.actions import rewind_table_and_job, take_savepoint
from bot.actions._completing import completed
from bot.domain.action import Plan
from bot.domain.errors import Refused, Superseded
from bot.domain.requirements import HeadDescends, RestorePointIntact, SnapshotPresent
from bot.service.choosing import newest_that_did_anything
from tests.actions.scene import Scene
from tests.actions.test_undo import rewound
from tests.little_flink import JOB
from tests.rewound import ANA
from tests.tables import job


def _damaged(scene: Scene) -> Plan:
    """Run b repeats checkpoint 3."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)
    return scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b"))


def test_a_move_of_main_holds_the_head_though_its_action_does_not_say_so(scene: Scene) -> None:
    """A backfill between approval and execution stays on main: the preview has said nothing of it."""
    plan = _damaged(scene)
    proposal = rewind_table_and_job.propose(plan)
    kept = tuple(r for r in proposal.requirements if not isinstance(r, HeadDescends | SnapshotPresent))
    proposal = scene.approved(proposal.model_copy(update={"requirements": kept}), plan)
    scene.backfill_commits()

    with pytest.raises(Superseded):
        scene.executions.begin(scene.incident, proposal.id, by=ANA)

    assert scene.positions()[-3:] == [900, 901, 902]
    assert SnapshotPresent(snapshot_id=scene.snapshot("a", 4)) in proposal.requirements


def test_a_start_from_a_state_that_nothing_holds_is_refused(scene: Scene) -> None:
    """It may be another state by then, or none."""
    plan = _damaged(scene)
    proposal = rewind_table_and_job.propose(plan)
    kept = tuple(r for r in proposal.requirements if not isinstance(r, RestorePointIntact))

    with pytest.raises(Refused, match="it does not check the state"):
        completed(proposal.model_copy(update={"requirements": kept}), plan)


def test_an_undo_does_not_mean_a_proposal_of_which_only_the_freeze_was_done(scene: Scene) -> None:
    """A freeze ends by itself; what people want back is the rewind before it."""
    done = rewound(scene)
    scene.maintenance.thaw(scene.incident, by=ANA)
    plan = scene.plan(number=2)
    scene.flink.saves = "disk full"
    refused = scene.carries_out(take_savepoint.propose(plan), plan)

    assert [end.how for end in refused.done.values()] == ["done", "refused"]
    assert newest_that_did_anything(scene.store.get(scene.incident)) == done.proposal.id
