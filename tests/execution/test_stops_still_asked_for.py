"""Requests that are still asked for are not said not to have happened."""

from typing import Any

from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import ProposalState
from tests.execution.away import Later, notes
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


STARTS_STILL_ASKED_FOR_ASKED = "It is still asked to be started."


def begun(scene: Scene, still_asked: str | None) -> list[Any]:
    """The operator does not come to the start in time; what was asked of it."""
    asked: list[Any] = []

    def waits(*how: Any, **named: Any) -> Any:
        asked.append((how, named))
        scene.damaged.flink.asked_to_start = still_asked
        raise OutcomeUnknown("The operator did not do it in time.", "", "")

    scene.begins()
    scene.damaged.flink.start = waits  # type: ignore[method-assign]
    return asked


def test_it_is_not_known_however_long_it_takes_and_done_when_it_is_done_starts_still_asked_for(scene: Scene) -> None:
    """Were it told as refused, an undo could move the table under a job that comes up then."""
    executions, start = scene.executions, scene.damaged.flink.start
    asked = begun(scene, STARTS_STILL_ASKED_FOR_ASKED)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile = scene.view.state
    [(how, named)] = asked
    start(*how, **named)
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert (meanwhile, scene.view.state) == (ProposalState.UNKNOWN, ProposalState.APPLIED)
    assert scene.calls == ["stop", "start"]


def test_where_it_is_asked_for_no_more_it_is_tried_again_starts_still_asked_for(scene: Scene) -> None:
    """Somebody has taken it back: the approval still stands."""
    executions, start = scene.executions, scene.damaged.flink.start
    begun(scene, STARTS_STILL_ASKED_FOR_ASKED)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    scene.damaged.flink.asked_to_start, scene.damaged.flink.start = None, start  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_one_that_was_refused_and_comes_all_the_same_is_told_once(scene: Scene) -> None:
    """Nobody had settled it: the bot itself had given it up after an hour."""
    executions, start = scene.executions, scene.damaged.flink.start
    asked = begun(scene, None)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions.look_back(scene.incident)
    before = [note for note in notes(scene) if "happened after all" in note]
    how, named = asked[0]
    start(*how, **named)
    executions.look_back(scene.incident)
    executions.look_back(scene.incident)
    told = [note for note in notes(scene) if "happened after all" in note]

    assert scene.view.state is ProposalState.REFUSED
    assert before == []
    assert len(told) == 1
    assert "“Start from checkpoint 5” happened after all, though it was reported that it did not. Run" in told[0]
