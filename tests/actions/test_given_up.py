"""Who gives a rehearsal up has the job go on from what pairs with main as it is then, or start not at all."""

from collections.abc import Callable
from contextlib import closing

import pytest
from pyiceberg.table import Table

from bot.actions import drop_repair_branch, protect_last_commit
from bot.actions._rehearsing import rehearsal_of
from bot.domain.action import Plan
from bot.domain.effects import DeleteRows, MarkTable, StartJob
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.file_changes import RowsOfFile
from bot.domain.looked import NotSeen
from bot.domain.proposal import Proposal
from bot.domain.rehearsals import standing_job
from bot.service.proposing import past_of_rehearsal
from tests.actions.scene import Scene
from tests.little_flink import JOB, open_catalog
from tests.tables import ORDERS, job, rows

BRANCH = "recovery-wl-1"


def changed(scene: Scene, change: Callable[[Table], object]) -> None:
    """Somebody works on the table by hand."""
    with closing(open_catalog(scene.folder)) as catalog:
        change(catalog.load_table(ORDERS))


def repair(plan: Plan) -> Proposal:
    """A rehearsal."""
    mark = MarkTable(table=ORDERS, why="Repair", set_properties={"repaired": "yes"})
    return rehearsal_of(
        plan, protect_last_commit.ACTION, lambda _b: mark, title="Repair", sentences=(), proof="nothing"
    )


def rehearsed(scene: Scene, plan: Plan | None = None, branch: str = BRANCH) -> None:
    """Run a is stopped with savepoint 3, and the branch holds a repair; its proposal is number 1."""
    plan = plan or scene.plan()
    done = scene.carries_out(repair(plan), plan)
    assert done.state is ProposalState.APPLIED, done.result
    changed(scene, lambda table: table.append(rows(range(500, 501)), branch=branch))


def planned(scene: Scene, number: int = 2) -> Plan:
    """What is known when the repair is given up."""
    past = past_of_rehearsal(scene.store.get(scene.incident), scene.table)
    return scene.plan(number=number).model_copy(update={"rehearsed": past})


def given_up(scene: Scene) -> ProposalView:
    """Proposed, approved and carried out."""
    plan = planned(scene)
    done = scene.carries_out(drop_repair_branch.propose(plan), plan)
    assert done.state is ProposalState.APPLIED, done.result
    assert scene.table.ref(BRANCH) is None
    return done


def test_the_job_goes_on_from_its_stop_where_main_is_as_it_was(scene: Scene) -> None:
    """Also where main ends with a second copy of the commit with which that pairs (F1)."""
    scene.flink._commit(job("a"), 3, range(20, 30))
    rehearsed(scene)

    view = given_up(scene)

    assert len(scene.alive) == 1
    assert scene.positions() == sorted([*range(50), *range(20, 30)])
    assert "which the repair's stop took" in " ".join(view.proposal.preview.sentences)


def test_nothing_is_started_over_commits_with_which_nothing_pairs(scene: Scene) -> None:
    """An undo, or a hand, had the job go on from the rehearsal's stop, and it failed: from there its rows would come a
    second time."""
    rehearsed(scene)
    scene.flink.submit(
        job("b"), at_checkpoint=3, restored=scene.flink.savepoints / f"savepoint-{job('a')[:6]}-{3:012x}"
    )
    scene.flink.checkpoints(job("b"), 3)
    scene.flink.ends(job("b"), "FAILED")

    view = given_up(scene)

    assert scene.alive == []
    assert scene.positions() == list(range(60))
    said = " ".join(view.proposal.preview.sentences)
    assert "the job stays down" in said
    assert "(checkpoint 6), main's newest commit by Flink" in said
    assert "collect evidence again and diagnose" in said
    assert "stays down" in view.proposal.preview.sure
    assert view.proposal.preview.replayed_from is None
    stands = standing_job(scene.store.get(scene.incident))
    assert stands is not None
    assert stands.settled == "given up"


def test_nothing_is_started_over_a_main_that_was_rolled_back(scene: Scene) -> None:
    """The rehearsal's stop pairs with a commit that main has not any more: its rows would be missing."""
    rehearsed(scene)
    second = scene.snapshot("a", 2)
    changed(scene, lambda table: table.manage_snapshots().rollback_to_snapshot(second).commit())

    given_up(scene)

    assert scene.alive == []
    assert scene.positions() == list(range(20))


def test_the_job_goes_on_from_the_newest_state_of_whatever_run(scene: Scene) -> None:
    """People had started it by hand, and stopped it with a savepoint."""
    rehearsed(scene)
    scene.flink.submit(
        job("b"), at_checkpoint=3, restored=scene.flink.savepoints / f"savepoint-{job('a')[:6]}-{3:012x}"
    )
    scene.flink.checkpoints(job("b"), 2)
    scene.flink.stop(JOB, job("b"))

    view = given_up(scene)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == view.proposal.preview.replayed_from == 5
    assert scene.positions() == list(range(70))
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_nothing_is_given_up_while_it_is_not_known_from_where_the_job_goes_on(scene: Scene) -> None:
    """Not to see the restore points is not to see that there are none."""
    rehearsed(scene)
    plan = planned(scene)
    unseen = NotSeen(source="the checkpoint storage", reason="It timed out.", remedy="Try again.")
    observation = plan.case.observation.model_copy(update={"checkpoints": unseen})
    case = plan.case.model_copy(update={"observation": observation})

    with pytest.raises(CouldNotLook, match="not known from where the job can continue"):
        drop_repair_branch.propose(plan.model_copy(update={"case": case}))


def test_a_start_that_somebody_makes_first_ends_it(scene: Scene) -> None:
    """A job that runs by then is left alone, and only the branch goes."""
    rehearsed(scene)
    scene.flink.submit(
        job("b"), at_checkpoint=3, restored=scene.flink.savepoints / f"savepoint-{job('a')[:6]}-{3:012x}"
    )

    given_up(scene)

    assert scene.alive == [job("b")]


def test_a_second_rehearsal_waits_for_the_end_of_the_first(scene: Scene) -> None:
    """What publishes the second would not start the job again that the first has stopped."""
    rehearsed(scene)

    with pytest.raises(Refused, match="Another repair of this incident is still open") as refused:
        repair(planned(scene))

    assert BRANCH in refused.value.found
    assert "publish_repair" in refused.value.remedy
    assert "drop_repair_branch" in refused.value.remedy
    given_up(scene)
    assert repair(planned(scene, number=3)).effects


def test_of_two_rehearsals_that_an_earlier_version_allowed_both_are_given_up(scene: Scene) -> None:
    """The newest first; none stays for ever."""
    rehearsed(scene)
    second = f"{BRANCH}-p005"
    plan = scene.plan(number=5).model_copy(update={"branches": frozenset({BRANCH})})
    rehearsed(scene, plan, second)

    given = []
    for number in (6, 7):
        plan = planned(scene, number)
        given.append(scene.carries_out(drop_repair_branch.propose(plan), plan))

    assert [view.state for view in given] == [ProposalState.APPLIED] * 2
    assert [view.proposal.title.split()[-1] for view in given] == [second, BRANCH]
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))


def test_a_repair_that_was_refused_once_its_branch_was_there_can_be_given_up(scene: Scene) -> None:
    """A lost file came back, or a source gave other rows: the branch stands where main was, and the job is stopped."""
    plan = scene.plan()
    gone = DeleteRows(
        table=ORDERS,
        branch=BRANCH,
        incident=plan.incident,
        why="Repair",
        rows=(RowsOfFile(path="file:/gone.parquet", spans=((0, 1),)),),
    )
    made = rehearsal_of(
        plan, protect_last_commit.ACTION, lambda _b: gone, title="Repair", sentences=(), proof="nothing"
    )
    assert scene.carries_out(made, plan).state is not ProposalState.APPLIED
    assert scene.table.ref(BRANCH) in scene.table.chain_ids

    view = given_up(scene)

    assert "It has no commit of its own" in " ".join(view.proposal.preview.sentences)
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))


def test_a_repair_that_somebody_published_by_hand_can_be_given_up_and_says_so(scene: Scene) -> None:
    """Its commit stays on main, which nobody has proven."""
    rehearsed(scene)
    repaired = scene.table.ref(BRANCH)
    assert repaired is not None
    changed(scene, lambda table: table.manage_snapshots().set_current_snapshot(repaired).commit())

    view = given_up(scene)

    said = " ".join(view.proposal.preview.sentences)
    assert "somebody set main to it by hand" in said
    assert "trust_present_state" in said
    assert repaired in scene.table.chain_ids
