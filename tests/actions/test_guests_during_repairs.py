"""A second Flink job that is declared for the table and commits each minute: a repair can be published once it pauses,
and whoever approves, or is refused, is told so."""

from dataclasses import replace

import pytest

from bot.actions import drop_repair_branch, publish_repair, rewind_table_and_job
from bot.actions._completing import completed
from bot.actions._rehearsing import rehearsal_of
from bot.actions._requirements import check_all
from bot.actions.deduplicate_rows import ACTION
from bot.domain.action import Plan
from bot.domain.effects import DeleteRows
from bot.domain.errors import Refused, Superseded
from bot.domain.execution import ProposalState
from bot.domain.file_changes import RowsOfFile
from bot.domain.looked import NotSeen
from bot.domain.proposal import Proposal
from bot.domain.requirements import HeadDescends, requirement_sentence
from bot.domain.table import TableState
from tests.actions.guests import GUEST, declared, guest
from tests.actions.scene import Scene
from tests.actions.test_guests_above_a_stop import commits
from tests.actions.test_publications_that_start import proven, published, rehearsed, said
from tests.little_flink import LittleFlink
from tests.tables import ORDERS, job

PAUSE = "Before you approve, stop run eeeeee of backfill-to-iceberg, which may write the table as well."


def commits_beside(scene: Scene, checkpoint: int) -> None:
    """Three rows of the guest."""
    commits(scene, "e", checkpoint, range(870 + 3 * checkpoint, 873 + 3 * checkpoint), operator="ee" * 16)


@pytest.fixture
def beside(scene: Scene) -> LittleFlink:
    """The guest has committed below three checkpoints of the job, and goes on."""
    commits_beside(scene, 8)
    cluster = guest(scene, 8)
    declared(scene)
    scene.flink.checkpoints(job("a"), 3)
    return cluster


def repair(plan: Plan) -> Proposal:
    """One that would take out a row."""

    def delete(branch: str) -> DeleteRows:
        only = (RowsOfFile(path="x", spans=((0, 0),)),)
        return DeleteRows(table=ORDERS, branch=branch, incident=plan.incident, why="Delete", rows=only)

    return completed(rehearsal_of(plan, ACTION, delete, title="Repair", sentences=(), proof="nothing"), plan)


@pytest.mark.usefixtures("beside")
def test_a_guests_commit_before_the_approval_leaves_the_rehearsal_as_it_is(scene: Scene) -> None:
    """The branch begins at the head that is there then; the guest may commit a last time while it is stopped."""
    proposal = repair(scene.plan())
    commits_beside(scene, 9)

    check_all(proposal.requirements, scene.observer.hands.world(ORDERS))


@pytest.mark.usefixtures("beside")
def test_a_compaction_before_the_approval_supersedes_the_rehearsal(scene: Scene) -> None:
    """It names files, which are not live any more then: it is refused before the job is stopped."""
    proposal = repair(scene.plan())
    world = scene.observer.hands.world(ORDERS)
    scene.backfill_commits()
    table = scene.table
    told = {"operation": "replace", "summary": {"deleted-records": "3", "added-records": "3"}}
    snapshots = tuple(s.model_copy(update=told) if s.snapshot_id == table.head else s for s in table.snapshots)
    compacted = TableState.model_validate({**table.model_dump(), "snapshots": snapshots})

    with pytest.raises(Superseded, match="has changed since this was proposed"):
        check_all(proposal.requirements, replace(world, table=compacted))
    [held] = [each for each in proposal.requirements if isinstance(each, HeadDescends)]
    assert "compactions" not in requirement_sentence(held)


@pytest.mark.usefixtures("beside")
def test_who_approves_a_rehearsal_or_a_rewind_is_told_what_to_pause(scene: Scene) -> None:
    """And until when."""
    scene.flink.savepoint(job("a"))
    plan = scene.plan(last_good=scene.snapshot("a", 6)).model_copy(update={"drops_others": True})

    assert f"{PAUSE} Start it again when the repair is published or dropped" in said(repair(plan))
    assert f"{PAUSE} Start it again when main has moved" in said(rewind_table_and_job.propose(plan))


def test_who_approves_is_told_where_nobody_knows_whether_the_guest_runs(scene: Scene, beside: LittleFlink) -> None:
    """Its cluster cannot be asked."""
    plan = scene.plan()
    unseen = NotSeen(source="Flink of the guest", reason="It timed out.", remedy="Try again.")
    observation = plan.case.observation.model_copy(update={"others": unseen})
    case = plan.case.model_copy(update={"observation": observation})

    told = said(repair(plan.model_copy(update={"case": case})))

    assert "It is not known whether another job of the table runs (Flink of the guest: It timed out)." in told
    assert PAUSE not in told


def test_nobody_is_asked_to_pause_what_has_ended(scene: Scene, beside: LittleFlink) -> None:
    """Its run is listed still."""
    beside.stop(GUEST, job("e"))

    assert "Before you approve, stop run" not in said(repair(scene.plan()))


def test_a_publication_that_the_guest_ends_says_who_must_pause_and_succeeds_then(
    scene: Scene, beside: LittleFlink
) -> None:
    """Given up, with the guest stopped, and proposed anew."""
    first = rehearsed(scene)
    commits_beside(scene, 9)

    with pytest.raises(Refused) as refused:
        publish_repair.propose(proven(scene, first))
    plan = proven(scene, first)
    dropped = scene.carries_out(drop_repair_branch.propose(plan), plan)
    beside.stop(GUEST, job("e"))

    assert "committed by Flink run eeeeee (checkpoint 9). Stop that writer first, or it ends the next repair" in str(
        refused.value
    )
    assert "`/waterline propose drop_repair_branch`" in str(refused.value)
    assert dropped.state is ProposalState.APPLIED, dropped.result
    assert "Before you approve, stop run" not in said(repair(scene.plan()))


@pytest.mark.usefixtures("beside")
def test_a_publication_names_what_must_stay_paused(scene: Scene) -> None:
    """Until main has moved."""
    view = published(scene, proven(scene, rehearsed(scene)))

    assert f"{PAUSE} Start it again when main has moved" in said(view.proposal)
