"""A stop that is still asked for is not said not to have happened: whoever carries it out may come back to it."""

from typing import Any

from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import ProposalState
from tests.execution.away import Later
from tests.execution.scene import Scene

ASKED = "It is still asked to be suspended."


def test_it_is_not_known_however_long_it_takes_and_done_when_it_is_done(scene: Scene) -> None:
    """An hour does not make it a refusal; nothing is asked for twice."""
    flink, executions = scene.damaged.flink, scene.executions
    stop, asked = flink.stop, []

    def waits(*how: Any, **named: Any) -> Any:
        asked.append((how, named))
        flink.still_asked = ASKED
        raise OutcomeUnknown("The operator did not do it in time.", "", "")

    scene.begins()
    flink.stop = waits  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile = scene.view.state
    [(how, named)] = asked
    stop(*how, **named)
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert meanwhile is ProposalState.UNKNOWN
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]
    assert ASKED not in scene.view.done[0].detail


def test_where_it_is_asked_for_no_more_it_is_tried_again(scene: Scene) -> None:
    """Somebody has taken it back: the approval still stands."""
    flink, executions = scene.damaged.flink, scene.executions
    stop = flink.stop

    def waits(*_how: Any, **_named: Any) -> Any:
        flink.still_asked = ASKED
        raise OutcomeUnknown("The operator did not do it in time.", "", "")

    scene.begins()
    flink.stop = waits  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile = scene.view.state
    flink.still_asked, flink.stop = None, stop  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert (meanwhile, scene.view.state) == (ProposalState.UNKNOWN, ProposalState.APPLIED)
    assert scene.calls == ["stop", "start"]


def test_an_hour_is_no_refusal_while_flink_is_at_its_savepoint(scene: Scene) -> None:
    """It may take longer than anybody waits: what ends the run later is not told as not having happened."""
    flink, executions = scene.damaged.flink, scene.executions
    stop = flink.stop

    def waits(*_how: Any, **_named: Any) -> Any:
        flink.at_work = "Flink is still at its stop-with-savepoint."
        raise OutcomeUnknown("It was not done in time.", "", "")

    scene.begins()
    flink.stop = waits  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile = scene.view.state
    flink.at_work, flink.stop = None, stop  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert (meanwhile, scene.view.state) == (ProposalState.UNKNOWN, ProposalState.APPLIED)
    assert scene.calls == ["stop", "start"]
