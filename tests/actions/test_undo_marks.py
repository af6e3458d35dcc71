"""Tags and properties are set, taken back, and set again: each undo leads to what was there before."""

import pytest

from bot.actions import protect_last_commit, undo_proposal
from bot.domain.effects import MarkTable
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import ProposalId, SnapshotId
from bot.ports import TableChange
from tests.actions.scene import Scene
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
    plan = scene.plan(undoes=undoes, number=number)
    return scene.carries_out(undo_proposal.propose(plan), plan)


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
    scene.sets("owner", "ben")
    more = MarkTable(table=ORDERS, why="Mark", new_tags={"kept": head}, set_properties={"owner": "ana", "team": "a"})

    done = protected(scene, more)
    undo = undone(scene, done.proposal.id, 2)

    assert undo.state is ProposalState.APPLIED, undo.result
    assert tags(scene) == {"kept": head}
    assert scene.table.properties["owner"] == "ben"
    assert "team" not in scene.table.properties


def test_a_tag_whose_snapshot_is_gone_is_not_set_again(scene: Scene) -> None:
    """Said before anybody approves it."""
    done = protected(scene)
    undo = undone(scene, done.proposal.id, 2)
    plan = scene.plan(undoes=undo.proposal.id, number=3)
    table = plan.case.observation.table
    without = type(table).model_validate({**table.model_dump(), "snapshots": tuple(table.snapshots)[:-1]})
    case = plan.case.model_copy(update={"observation": plan.case.observation.model_copy(update={"table": without})})

    with pytest.raises(Refused, match="A tag on an expired snapshot cannot be restored"):
        undo_proposal.propose(plan.model_copy(update={"case": case}))


def test_a_record_that_does_not_tell_what_was_removed_is_not_taken_for_one_that_does(scene: Scene) -> None:
    """It was written before tags were kept in it."""
    done = protected(scene)
    undo = undone(scene, done.proposal.id, 2)
    plan = scene.plan(undoes=undo.proposal.id, number=3)
    assert plan.undoes is not None
    older = {index: intent.model_copy(update={"before": {}}) for index, intent in plan.undoes.started.items()}
    past = plan.undoes.model_copy(update={"started": older})

    with pytest.raises(Refused, match="would change nothing"):
        undo_proposal.propose(plan.model_copy(update={"undoes": past}))
