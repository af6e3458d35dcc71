"""A table that is dropped, or a job that the configuration no longer names, while a proposal is carried out."""

from typing import Any

import pytest

from bot.actions import restart_from_stop_savepoint
from bot.adapters.clock import SystemClock
from bot.domain.entries import NoteAdded, WaterlineMoved
from bot.domain.errors import CouldNotLook, OutcomeUnknown, UnknownTable
from bot.domain.ids import ProposalId
from bot.domain.journal import WATERLINE
from bot.service.approving import Approvals
from bot.service.proposing import Proposals
from bot.service.waterline import Waterline
from tests.actions.scene import ProposalState, Scene
from tests.execution.away import Later
from tests.little_flink import JOB, open_catalog
from tests.rewound import ANA, BEN
from tests.tables import ORDERS, job


def begun(scene: Scene) -> ProposalId:
    """A restart that is approved and begun."""
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    scene.executions.begin(scene.incident, made.id, by=ANA)
    return made.id


def drops_the_table(scene: Scene) -> None:
    """By its owner, for good."""
    catalog = open_catalog(scene.folder)
    catalog.drop_table(ORDERS)
    catalog.close()


def notes(scene: Scene) -> list[str]:
    """What was noted for people."""
    return [e.body.text for e in scene.store.get(scene.incident).entries if isinstance(e.body, NoteAdded)]


def settles(scene: Scene, made: ProposalId, *, happened: bool) -> None:
    """Ben says what became of the step that is open."""
    proposals = Proposals(scene.store, scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]
    approvals = Approvals(scene.store, proposals, None, SystemClock())  # type: ignore[arg-type]
    index = scene.view(made).next_effect
    assert index is not None
    approvals.settle_outcome(scene.incident, made, index, "I have looked.", happened=happened, by=BEN)


def test_a_table_that_is_dropped_is_waited_for_an_hour(scene: Scene) -> None:
    """Somebody may bring it back; then it ends as refused, and the incident can be closed."""
    made, executions, stop = begun(scene), scene.executions, scene.flink.stop

    def then_dropped(*asked: Any, **how: Any) -> Any:
        stopped = stop(*asked, **how)
        drops_the_table(scene)
        return stopped

    scene.flink.stop = then_dropped  # type: ignore[method-assign]
    executions.carry_on(scene.incident, made)
    meanwhile, noted = scene.view(made).state, notes(scene)
    executions._clock = Later()  # the bot has no other way to let an hour pass
    executions.carry_on(scene.incident, made)

    assert meanwhile is ProposalState.EXECUTING
    assert any("There is no table sales.orders." in note for note in noted), noted
    result = scene.view(made).result
    assert scene.view(made).state is ProposalState.REFUSED
    assert result is not None
    assert "Not carried out: Start from where run aaaaaa stopped" in result.sentence


def test_a_mark_that_stands_keeps_no_recovery_waiting_for_the_table(scene: Scene) -> None:
    """It is put back before anything is carried on; where it stands there already, nothing is looked at."""
    opened = scene.store.get(scene.incident).opened.trusted
    marked = WaterlineMoved(snapshot=opened, status="under-review")
    scene.store.write(scene.incident, by=WATERLINE, decide=lambda _: [marked])
    made, executions = begun(scene), scene.executions
    mark = Waterline(scene.store, scene.observer.hands.catalog, SystemClock())
    drops_the_table(scene)

    mark.follow(scene.incident, only_back=True)
    executions.carry_on(scene.incident, made)
    executions._clock = Later()
    mark.follow(scene.incident, only_back=True)
    executions.carry_on(scene.incident, made)

    assert scene.view(made).state is ProposalState.REFUSED
    with pytest.raises(UnknownTable):
        mark.follow(scene.incident)


def test_a_job_that_is_no_longer_configured_is_waited_for_an_hour(scene: Scene) -> None:
    """Somebody has renamed it and restarted Waterline: it says under which name it is looked for."""
    made, executions = begun(scene), scene.executions
    scene.observer.jobs.clear()  # type: ignore[attr-defined]
    executions.carry_on(scene.incident, made)
    meanwhile, noted = scene.view(made).state, notes(scene)
    executions._clock = Later()
    executions.carry_on(scene.incident, made)

    assert meanwhile is ProposalState.EXECUTING
    assert any(f"The job {JOB} cannot be asked. Expected it in the configuration" in note for note in noted), noted
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
        drops_the_table(scene)
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
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    drops_the_table(scene)

    with pytest.raises(CouldNotLook, match=r"There is no table sales\.orders"):
        scene.executions.begin(scene.incident, made.id, by=ANA)

    assert scene.view(made.id).state is ProposalState.APPROVED
