"""Requests that are still asked for are not said not to have happened."""

from typing import Any

import pytest

from bot.incident.execution import ProposalState
from bot.observation.errors import OutcomeUnknown
from tests.execution.away import Later, notes
from tests.execution.scene import Scene

ASKED = "It is still asked to be suspended."


def begun(scene: Scene, deed: str, shown_as: str, shown: str | None) -> list[Any]:
    """Flink does not come to the deed in time, and shows so; what was asked of it."""
    flink, asked = scene.damaged.flink, []

    def waits(*how: Any, **named: Any) -> Any:
        asked.append((how, named))
        setattr(flink, shown_as, shown)
        raise OutcomeUnknown("The operator did not do it in time.", "", "")

    scene.begins()
    setattr(flink, deed, waits)
    return asked


STOP, START = ("stop", "still_asked", ASKED), ("start", "asked_to_start", "It is still asked to be started.")
AT_WORK = ("stop", "at_work", "Flink is still at its stop-with-savepoint.")


@pytest.mark.parametrize("shown", [STOP, START], ids=["stop", "start"])
def test_it_is_not_known_however_long_it_takes_and_done_when_it_is_done(
    scene: Scene, shown: tuple[str, str, str]
) -> None:
    """An hour does not make it a refusal, else an undo could move the table under a job that comes up then; nothing is
    asked for twice."""
    deed, executions = getattr(scene.damaged.flink, shown[0]), scene.executions
    asked = begun(scene, *shown)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile = scene.view.state
    [(how, named)] = asked
    deed(*how, **named)
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert (meanwhile, scene.view.state) == (ProposalState.UNKNOWN, ProposalState.APPLIED)
    assert scene.calls == ["stop", "start"]
    assert ASKED not in scene.view.done[0].detail


@pytest.mark.parametrize(("shown", "is_late"), [(STOP, False), (START, False), (AT_WORK, True)])
def test_where_it_is_asked_for_no_more_it_is_tried_again(
    scene: Scene, shown: tuple[str, str, str], is_late: bool
) -> None:
    """Somebody has taken it back, or the savepoint has failed: the approval still stands. An hour is no refusal
    of a stop that is at its savepoint: what ends the run later is not told as not having happened."""
    flink, executions = scene.damaged.flink, scene.executions
    deed = getattr(flink, shown[0])
    begun(scene, *shown)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    if is_late:
        executions._clock = Later()
        executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile = scene.view.state
    setattr(flink, shown[0], deed)
    setattr(flink, shown[1], None)
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert (meanwhile, scene.view.state) == (ProposalState.UNKNOWN, ProposalState.APPLIED)
    assert scene.calls == ["stop", "start"]


def test_one_that_was_refused_and_comes_all_the_same_is_told_once(scene: Scene) -> None:
    """Nobody had settled it: the bot itself had given it up after an hour."""
    executions, start = scene.executions, scene.damaged.flink.start
    asked = begun(scene, "start", "asked_to_start", None)
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
