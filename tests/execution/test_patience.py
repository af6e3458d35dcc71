"""Where the world cannot be looked at, an execution waits for an hour and no longer."""

from typing import Any

import pytest

from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import AT_WORK, ProposalState
from tests.execution.away import Later, away, intents, notes
from tests.execution.scene import Scene


def test_after_an_hour_it_ends_and_something_else_can_be_proposed(scene: Scene) -> None:
    """A source that is gone for good must not keep the incident from going on."""
    stop, executions = scene.damaged.flink.stop, scene.executions

    def then_away(*asked: Any, **how: Any) -> Any:
        stopped = stop(*asked, **how)
        scene.damaged.catalog.load = away  # type: ignore[method-assign]
        return stopped

    scene.begins()
    scene.damaged.flink.stop = then_away  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions._clock = Later()  # the bot has no other way to let an hour pass
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert scene.view.state is ProposalState.REFUSED
    assert scene.view.result is not None
    assert "Done: Stop run bbbbbb. Not done: Move main" in scene.view.result.sentence


def test_what_is_never_answered_and_never_there_ends_after_an_hour_too(scene: Scene) -> None:
    """Neither can people settle what the world denies, nor may it be asked for again and again for ever."""
    executions = scene.executions

    def lost(*_asked: Any, **_how: Any) -> Any:
        raise OutcomeUnknown("Flink waited in vain.", "", "")

    scene.begins()
    scene.damaged.flink.stop = lost  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    executions.carry_on(scene.incident, scene.view.proposal.id)
    meanwhile, noted = scene.view.state, notes(scene)
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert meanwhile is ProposalState.EXECUTING
    assert intents(scene) == [0]
    assert len(noted) == 1
    assert "waits before “Stop run bbbbbb”: Flink waited in vain." in noted[0]
    assert scene.view.state is ProposalState.REFUSED
    assert scene.view.result is not None
    assert "Done: nothing. Not done: Stop run bbbbbb" in scene.view.result.sentence


@pytest.mark.parametrize("meanwhile", ["the bot was away", "nobody could look at all"])
def test_an_hour_is_counted_from_the_newest_wait(scene: Scene, meanwhile: str) -> None:
    """A source that was away for a moment long ago has cost none of the patience with the one that is away now."""
    executions, stop = scene.executions, scene.damaged.flink.stop
    scene.begins()
    scene.damaged.flink.stop = away  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)
    if meanwhile == "the bot was away":
        executions = scene.executions
    else:
        run = scene.damaged.flink.run
        scene.damaged.flink.run = away  # type: ignore[method-assign]
        executions.carry_on(scene.incident, scene.view.proposal.id)
        scene.damaged.flink.run = run  # type: ignore[method-assign]
    executions._clock = Later()
    executions.carry_on(scene.incident, scene.view.proposal.id)
    state = scene.view.state
    scene.damaged.flink.stop = stop  # type: ignore[method-assign]
    executions.carry_on(scene.incident, scene.view.proposal.id)

    assert state in AT_WORK
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_an_effect_that_is_tried_again_is_begun_once_more_only_by_another_process(scene: Scene) -> None:
    """The same intent every few seconds would fill the record; another process must say so, to have its turn."""
    one, other = scene.executions, scene.executions
    scene.begins()
    scene.damaged.flink.stop = away  # type: ignore[method-assign]
    written = []
    for executions in (one, one, other, one, one):
        executions.carry_on(scene.incident, scene.view.proposal.id)
        written.append(len(intents(scene)))

    assert written == [1, 1, 2, 3, 3]
