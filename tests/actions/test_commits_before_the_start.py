"""What others commit before a start keeps no job down, unless it may be what the job would read again."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

import pytest

from bot.actions import forward_job, restart_from_stop_savepoint, take_savepoint, undo_proposal
from bot.actions._completing import completed
from bot.actions._foreseen import unforeseen
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.requirements import HeadDescends, requirement_sentence
from bot.domain.table import TableState
from tests.actions.scene import Scene
from tests.actions.test_guests_above_a_stop import commits, guest_above
from tests.little_flink import JOB, open_catalog
from tests.rewound import ANA
from tests.tables import ORDERS, job

Act = Callable[[Scene], None]


def guest(scene: Scene) -> None:
    """The guest goes on."""
    commits(scene, "e", 10, range(906, 909), operator="ee" * 16)


def unknown(scene: Scene) -> None:
    """A run that nobody knows, which has not written before."""
    commits(scene, "d", 7, range(60, 70), operator="dd" * 16)


def rolls_back(scene: Scene) -> None:
    """Main goes to where a savepoint of the run pairs as well."""
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.load_table(ORDERS).manage_snapshots().rollback_to_snapshot(scene.snapshot("a", 5)).commit()


def then(scene: Scene, act: Act) -> None:
    """`act` happens right after each stop."""
    stop = scene.flink.stop

    def stopped(*args, **how):  # type: ignore[no-untyped-def]
        told = stop(*args, **how)
        act(scene)
        return told

    scene.flink.stop = stopped  # type: ignore[method-assign]


def carried_out(scene: Scene, action) -> ProposalView:  # type: ignore[no-untyped-def]
    """The action's proposal, from approval to its end."""
    plan = scene.plan()
    return scene.carries_out(action.propose(plan), plan)


@pytest.mark.parametrize("act", [guest, Scene.backfill_commits], ids=["a guest", "another engine"])
@pytest.mark.parametrize("action", [restart_from_stop_savepoint, take_savepoint], ids=["restart", "savepoint"])
def test_a_commit_that_does_not_bind_passes_between_the_stop_and_what_follows(scene: Scene, action, act: Act) -> None:  # type: ignore[no-untyped-def]
    """It takes nothing off main, and the pair is proven anew against main as it is."""
    guest_above(scene)
    then(scene, act)

    view = carried_out(scene, action)

    assert view.state is ProposalState.APPLIED, view.result
    own = [each for each in scene.positions() if each < 900]
    assert own == list(range(80 if action is restart_from_stop_savepoint else 60))
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


@pytest.mark.parametrize(
    ("act", "said"),
    [(unknown, "none of its states pairs with the table"), (rolls_back, "The table was rolled back")],
    ids=["a run that may have gone on from there", "a rollback"],
)
def test_what_binds_still_ends_it(scene: Scene, act: Act, said: str) -> None:
    """Its rows may be those that the job would read again; and nobody has approved another table."""
    guest_above(scene)
    scene.flink.savepoint(job("a"))
    then(scene, act)

    view = carried_out(scene, restart_from_stop_savepoint)

    assert view.state is ProposalState.REFUSED
    assert said in view.result.sentence  # type: ignore[union-attr]
    assert "start" not in scene.calls


def test_a_guest_between_approval_and_stop_passes_too(scene: Scene) -> None:
    """One that commits each minute would end each proposal while people read it. Another engine's does end it."""
    guest_above(scene)
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    [held] = [each for each in made.requirements if isinstance(each, HeadDescends)]
    assert (
        f"and by compactions and commits of other Flink jobs that wrote concurrently with {JOB}"
        in requirement_sentence(held)
    )
    guest(scene)

    scene.executions.begin(scene.incident, made.id, by=ANA)
    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.APPLIED
    assert scene.positions() == [*range(80), *range(900, 909)]


def test_a_guest_passes_before_a_start_from_a_point_that_was_chosen(scene: Scene) -> None:
    """The job is down already; the first commit comes on top of the guest's."""
    guest_above(scene)
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    made = scene.approved(forward_job.propose(plan), plan)
    guest(scene)

    scene.executions.begin(scene.incident, made.id, by=ANA)
    scene.executions.carry_on(scene.incident, made.id)

    view = scene.view(made.id)
    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 909)]
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)
    again = scene.plan(undoes=made.id, number=2)
    assert scene.carries_out(undo_proposal.propose(again), again).state is ProposalState.APPLIED
    assert {906, 907, 908} <= set(scene.positions())


def test_an_undo_of_a_stop_alone_is_not_ended_by_a_guest(scene: Scene) -> None:
    """A busy guest kept the job down: each of its commits ended the proposal that starts it again."""
    guest_above(scene)
    first = carried_out(scene, take_savepoint)
    plan = scene.plan(undoes=first.proposal.id, number=2)
    made = scene.approved(undo_proposal.propose(plan), plan)
    guest(scene)

    scene.executions.begin(scene.incident, made.id, by=ANA)
    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.APPLIED
    assert scene.positions() == [*range(80), *range(900, 909)]


def test_a_compaction_does_not_matter_to_a_start(scene: Scene) -> None:
    """No preview stops it; a run that nobody knows does matter."""
    scene.flink.stop(JOB, job("a"))
    plan = scene.plan()
    [held] = [r for r in completed(forward_job.propose(plan), plan).requirements if isinstance(r, HeadDescends)]
    world = scene.observer.hands.world(ORDERS)
    scene.backfill_commits()
    table = scene.table
    told = {"operation": "replace", "summary": {"deleted-records": "3", "added-records": "3"}}
    snapshots = tuple(s.model_copy(update=told) if s.snapshot_id == table.head else s for s in table.snapshots)
    after = TableState.model_validate({**table.model_dump(), "snapshots": snapshots})

    assert unforeseen(held, replace(world, table=after)) is None
    assert "was committed by spark app local-17" in (unforeseen(held, replace(world, table=table)) or "")
