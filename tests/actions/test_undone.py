"""Undoing: tags, and runs whose ids an operator chose."""

from typing import Any

import pytest

from bot.actions import (
    protect_last_commit,
    restart_from_stop_savepoint,
    roll_back_table_and_restore_job,
    take_savepoint,
    undo_proposal,
)
from bot.actions._support.completing import completed
from bot.incident.effects import MarkTable
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.proposal import HeadDescends, RestorePointIntact, SnapshotPresent
from bot.observation.errors import CouldNotLook, Refused, Superseded
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, ProposalId, SnapshotId
from bot.ports import TableChange
from bot.service.proposals.choosing import newest_that_did_anything
from tests.actions.plans import seeing
from tests.actions.scene import Scene
from tests.actions.test_undo import rewound
from tests.rewound import ANA
from tests.tables import ORDERS


def tags(scene: Scene) -> dict[str, SnapshotId]:
    """Every tag of the table."""
    return {ref.name: ref.snapshot_id for ref in scene.table.refs if ref.kind == "tag"}


def protected(scene: Scene, *more: MarkTable) -> ProposalView:
    """The last commit of run a is tagged, and whatever else is asked for."""
    plan = scene.plan()
    proposal = protect_last_commit.propose(plan)
    return scene.carries_out(proposal.model_copy(update={"effects": (*proposal.effects, *more)}), plan)


def undone(scene: Scene, undoes: ProposalId, number: int) -> ProposalView:
    """By the proposal of this number."""
    return scene.does(undo_proposal, undoes=undoes, number=number)


def test_the_undo_of_an_undo_sets_the_tag_again(scene: Scene) -> None:
    """And that one is undone like the first."""
    done = protected(scene)
    with_tag = tags(scene)
    found = []
    for number in (2, 3, 4):
        done = undone(scene, done.proposal.id, number)
        assert done.state is ProposalState.APPLIED, done.result
        found.append(tags(scene))

    assert len(with_tag) == 1
    assert found == [{}, with_tag, {}]


def test_what_was_there_before_stays_there(scene: Scene) -> None:
    """Whoever has set it meant it."""
    head = scene.table.head
    assert head is not None
    kept = TableChange(expected_uuid=scene.table.uuid, expected_head=None, new_tags={"kept": head})
    scene.catalog.commit(ORDERS, kept)
    more = MarkTable(table=ORDERS, why="Mark", new_tags={"kept": head, "new": head})

    done = protected(scene, more)
    undo = undone(scene, done.proposal.id, 2)

    assert undo.state is ProposalState.APPLIED, undo.result
    assert tags(scene) == {"kept": head}


def test_a_tag_whose_snapshot_is_gone_is_not_set_again(scene: Scene) -> None:
    """Said before anybody approves it."""
    done = protected(scene)
    undo = undone(scene, done.proposal.id, 2)
    plan = scene.plan(undoes=undo.proposal.id, number=3)
    table = plan.case.observation.table
    without = type(table).model_validate({**table.model_dump(), "snapshots": tuple(table.snapshots)[:-1]})

    with pytest.raises(Refused, match="A tag on an expired snapshot cannot be restored"):
        undo_proposal.propose(seeing(plan, table=without))


def test_a_record_that_does_not_tell_what_was_removed_is_not_taken_for_one_that_does(scene: Scene) -> None:
    """It was written before tags were kept in it."""
    done = protected(scene)
    undo = undone(scene, done.proposal.id, 2)
    plan = scene.plan(undoes=undo.proposal.id, number=3)
    older = {index: intent.model_copy(update={"before": {}}) for index, intent in plan.undoes.started.items()}
    past = plan.undoes.model_copy(update={"started": older})

    with pytest.raises(Refused, match="would change nothing"):
        undo_proposal.propose(plan.model_copy(update={"undoes": past}))


def own(asked: JobId) -> JobId:
    """The id that the operator chooses."""
    return JobId(f"00000000{asked[8:]}")


def test_the_commits_of_a_run_whose_cluster_is_gone_are_no_strangers(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody suspended the deployment after our start: only the resource is left, and it knows no id of ours."""
    little, asked, gone = scene.flink, set[JobId](), False
    start, run = little.start, little.run

    def starts(name: str, path: str, job_id: JobId, **how: Any) -> None:
        asked.add(job_id)
        start(name, path, own(job_id), **how)

    def tells(job_id: JobId) -> JobRun | None:
        if job_id in asked and gone:
            raise CouldNotLook("Flink does not answer.", "Connection refused.", "Look at the cluster.")
        return run(own(job_id) if job_id in asked else job_id)

    monkeypatch.setattr(little, "start", starts)
    monkeypatch.setattr(little, "run", tells)
    done = scene.does(restart_from_stop_savepoint)
    assert done.state is ProposalState.APPLIED
    little.ends(own(next(iter(asked))), "CANCELED")
    gone = True
    plan = scene.plan(undoes=done.proposal.id, number=2)
    gone = False

    view = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))


def test_a_move_of_main_holds_the_head_though_its_action_does_not_say_so(scene: Scene) -> None:
    """A backfill between approval and execution stays on main: the preview has said nothing of it."""
    plan = scene.restored_from_older()
    proposal = roll_back_table_and_restore_job.propose(plan)
    kept = tuple(r for r in proposal.requirements if not isinstance(r, HeadDescends | SnapshotPresent))
    proposal = scene.approved(proposal.model_copy(update={"requirements": kept}), plan)
    scene.backfill_commits()

    with pytest.raises(Superseded):
        scene.executions.begin(scene.incident, proposal.id, by=ANA)

    assert scene.positions()[-3:] == [900, 901, 902]
    assert SnapshotPresent(snapshot_id=scene.snapshot("a", 4)) in proposal.requirements


def test_a_start_from_a_state_that_nothing_holds_is_refused(scene: Scene) -> None:
    """It may be another state by then, or none."""
    plan = scene.restored_from_older()
    proposal = roll_back_table_and_restore_job.propose(plan)
    kept = tuple(r for r in proposal.requirements if not isinstance(r, RestorePointIntact))

    with pytest.raises(Refused, match="it does not check the state"):
        completed(proposal.model_copy(update={"requirements": kept}), plan)


def test_an_undo_does_not_mean_a_proposal_of_which_only_the_freeze_was_done(scene: Scene) -> None:
    """A freeze ends by itself; what people want back is the rewind before it."""
    done = rewound(scene)
    scene.maintenance.unfreeze(scene.incident, by=ANA)
    plan = scene.plan(number=2)
    scene.flink.saves = "disk full"
    refused = scene.carries_out(take_savepoint.propose(plan), plan)

    assert [end.how for end in refused.done.values()] == ["done", "refused"]
    assert newest_that_did_anything(scene.store.get(scene.incident)) == done.proposal.id
