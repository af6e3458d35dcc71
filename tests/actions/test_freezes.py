"""What people froze by hand stays theirs, and whatever goes away during an execution."""

from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions import restart_from_stop_savepoint, take_savepoint
from bot.actions._support import foreseen as _foreseen
from bot.actions._support.current_state import CurrentState
from bot.adapters.clock import SystemClock
from bot.incident.decisions import ResolveUnknown
from bot.incident.entries import IncidentClosed, WaterlineMoved
from bot.incident.execution import ProposalState
from bot.incident.journal import WATERLINE
from bot.incident.proposal import HeadDescends
from bot.observation.errors import CouldNotLook, OutcomeUnknown, UnknownTable
from bot.observation.ids import JobId, OperatorId, ProposalId, SnapshotId
from bot.observation.table import TableState
from bot.service.background import Background
from bot.service.proposals.approving import Approvals
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import Proposals
from bot.service.reconciler import Reconciler
from bot.service.waterline import Waterline
from tests.actions.plans import nobody_looks
from tests.actions.scene import Scene
from tests.cases import OPERATOR, Tale, job_id
from tests.execution.away import Later
from tests.little_flink import JOB
from tests.rewound import ANA, BEN, Nobody
from tests.tables import job


def frozen_by_hand(scene: Scene) -> None:
    """As Waterline does it, without its notes."""
    scene.sets("gc.enabled", "false")
    scene.sets("waterline.maintenance", "frozen")


def test_it_stays_frozen_after_a_proposal_and_after_the_incident(scene: Scene) -> None:
    """The proposal begins with the freeze and finds it done; the incident's end takes nothing away."""
    frozen_by_hand(scene)
    properties, plan = scene.table.properties, scene.plan()

    view = scene.carries_out(take_savepoint.propose(plan), plan)
    scene.store.write(scene.incident, by=ANA, decide=lambda _i: [IncidentClosed(reason="Over.")])
    scene.maintenance.unfreeze_closed(scene.incident)

    assert ["freeze-maintenance"] == [effect.kind for effect in view.proposal.effects][:1]
    assert ProposalState.APPLIED is view.state
    assert properties == scene.table.properties
    assert not scene.store.get(scene.incident).is_frozen


def begun(scene: Scene) -> ProposalId:
    """A restart that is approved and begun."""
    made = scene.proposed(restart_from_stop_savepoint)
    scene.executions.begin(scene.incident, made.id, by=ANA)
    return made.id


def recovering(scene: Scene, executions: Executions) -> Reconciler:
    """Those of a replica whose background does nothing more: a test calls the recovery itself."""
    background = Background(scene.store, lambda: True, workers=1)
    background.close()
    waterline = Waterline(scene.store, scene.catalog, SystemClock())
    still: Any = SimpleNamespace(
        expire_due=None, unfreeze_closed=None, supersede_if_moved=None, release=None, look_in_turn=None
    )
    parts = *[still] * 4, executions, still, waterline, *[still] * 4
    return Reconciler(scene.store, background, *parts, {}, SystemClock())


def settles(scene: Scene, made: ProposalId, *, happened: bool) -> None:
    """Ben says what became of the step that is open."""
    proposals = Proposals(scene.store, scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]
    approvals = Approvals(scene.store, proposals, Nobody(), SystemClock())
    index = scene.view(made).next_effect
    assert index is not None
    act = ResolveUnknown(index=index, happened=happened, reason="I have looked.")
    approvals.act(scene.incident, made, act, by=BEN)


def test_a_table_that_is_dropped_is_waited_for_an_hour(scene: Scene) -> None:
    """Somebody may bring it back; then it ends as refused, and the incident can be closed."""
    made, executions = begun(scene), scene.executions
    scene.flink.then(scene.drops)
    executions.carry_on(scene.incident, made)
    meanwhile, noted = scene.view(made).state, scene.notes
    executions._clock = Later()  # the bot has no other way to let an hour pass
    executions.carry_on(scene.incident, made)

    assert meanwhile is ProposalState.EXECUTING
    assert any("There is no table sales.orders." in note for note in noted), noted
    result = scene.view(made).result
    assert scene.view(made).state is ProposalState.REFUSED
    assert "Not done: Start from where run aaaaaa stopped" in result.sentence


def test_a_recovery_of_a_table_that_is_dropped_under_review_ends_all_the_same(scene: Scene) -> None:
    """The mark cannot be looked at any more; that is told, and hides neither the wait nor the end."""
    under_review = WaterlineMoved(snapshot=None, status="under-review")
    scene.store.write(scene.incident, by=WATERLINE, decide=lambda _now: [under_review])
    made, executions = begun(scene), scene.executions
    reconciler = recovering(scene, executions)
    scene.flink.then(scene.drops)
    with pytest.raises(UnknownTable, match=r"There is no table sales\.orders"):
        reconciler._execute_and_prove(scene.incident)
    meanwhile = scene.view(made).state
    executions._clock = Later()
    with pytest.raises(UnknownTable, match=r"There is no table sales\.orders"):
        reconciler._execute_and_prove(scene.incident)

    assert meanwhile is ProposalState.EXECUTING
    assert scene.view(made).state is ProposalState.REFUSED


def test_a_job_that_is_no_longer_configured_is_waited_for_an_hour(scene: Scene) -> None:
    """Somebody has renamed it and restarted Waterline: it says under which name it is looked for."""
    made, executions = begun(scene), scene.executions
    scene.observer.jobs.clear()  # type: ignore[attr-defined]
    executions.carry_on(scene.incident, made)
    meanwhile, noted = scene.view(made).state, scene.notes
    executions._clock = Later()
    executions.carry_on(scene.incident, made)

    assert meanwhile is ProposalState.EXECUTING
    assert any(f"The job {JOB} is not configured. Expected it in the configuration" in note for note in noted), noted
    assert scene.view(made).state is ProposalState.REFUSED


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("gone", ["table", "job"])
def test_what_became_of_a_step_is_settled_meanwhile(scene: Scene, gone: str, happened: bool) -> None:
    """Nobody knows it from the world any more, so an approver's word counts."""
    made, executions = begun(scene), scene.executions

    def lost(*_asked: Any, **_how: Any) -> Any:
        scene.flink.forgets(job("a"))
        raise OutcomeUnknown("Whether it was stopped is not known.", "", "")

    scene.flink.stop = lost  # type: ignore[method-assign]
    executions.carry_on(scene.incident, made)
    if gone == "table":
        scene.drops()
    else:
        scene.observer.jobs.clear()  # type: ignore[attr-defined]
    executions.carry_on(scene.incident, made)
    before = scene.view(made).state
    settles(scene, made, happened=happened)
    executions.carry_on(scene.incident, made)
    executions._clock = Later()
    executions.carry_on(scene.incident, made)

    assert before is ProposalState.UNKNOWN
    assert scene.view(made).state is ProposalState.REFUSED


def test_nothing_is_begun_on_a_table_that_is_gone(scene: Scene) -> None:
    """Nothing is known of it; the proposal is there still if the table comes back."""
    made = scene.proposed(restart_from_stop_savepoint)
    scene.drops()

    with pytest.raises(CouldNotLook, match=r"There is no table sales\.orders"):
        scene.executions.begin(scene.incident, made.id, by=ANA)

    assert scene.view(made.id).state is ProposalState.APPROVED


OTHER = OperatorId("e" * 32)


def unforeseen(table: TableState, head: SnapshotId, run: JobId | None) -> str | None:
    """As a proposal that moves main asks it: of the table alone."""
    return _foreseen.unforeseen(
        HeadDescends(head=head, job_id=run), CurrentState(table=table, jobs={}, load=nobody_looks)
    )


def two_sinks(*checkpoints: int) -> Tale:
    """Each checkpoint comes twice, one commit of each sink of the run."""
    tale = Tale()
    for checkpoint in checkpoints:
        tale.commits("a", checkpoint).by_sink(OPERATOR).commits("a", checkpoint).by_sink(OTHER)
    return tale


@pytest.mark.parametrize("approved", [0, 1, 2, 3])
def test_two_sinks_of_the_run_go_on_side_by_side(approved: int) -> None:
    """Whichever of their commits was the head when people said yes."""
    tale = two_sinks(10, 11, 12)

    assert unforeseen(tale.table, tale.snapshots[approved].snapshot_id, job_id("a")) is None


@pytest.mark.parametrize("sink", [OPERATOR, OTHER])
def test_a_checkpoint_that_one_sink_commits_again_is_not_foreseen(sink: OperatorId) -> None:
    """The same files once more (F1): what was approved counted without them."""
    tale = two_sinks(10, 11)
    approved = tale.snapshots[-1].snapshot_id
    tale.commits("a", 11).by_sink(sink)

    assert "now" in (unforeseen(tale.table, approved, job_id("a")) or "")


def test_a_commit_of_anybody_else_is_not_foreseen() -> None:
    """Another run's, also under one of these sinks."""
    tale = two_sinks(10)
    approved = tale.snapshots[-1].snapshot_id
    tale.commits("b", 11).by_sink(OPERATOR)

    assert "run bbbbbb (checkpoint 11)" in (unforeseen(tale.table, approved, job_id("a")) or "")
    assert unforeseen(tale.table, approved, None) is not None


@pytest.mark.parametrize(("checkpoint", "is_foreseen"), [(11, True), (10, False)])
def test_where_a_head_names_no_sink_all_of_them_go_on_above_it(checkpoint: int, is_foreseen: bool) -> None:
    """Older versions of the sink left the operator out."""
    tale = two_sinks(10)
    head = tale.snapshots[-1]
    bare = {key: value for key, value in head.summary.items() if key != "flink.operator-id"}
    tale.snapshots[-1] = head.model_copy(update={"summary": bare})
    tale.commits("a", checkpoint).by_sink(OTHER)

    assert (unforeseen(tale.table, head.snapshot_id, job_id("a")) is None) is is_foreseen
