"""Before a refusal is believed, the world is looked at; and where it cannot be looked at, the execution waits."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.adapters.clock import SystemClock
from bot.domain.entries import EffectStarted, NoteAdded
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.domain.execution import AT_WORK, ProposalState
from bot.domain.table import TableState
from bot.ports import TableChange
from tests.execution.scene import Scene

LATE = CommitRefused("Table sales.orders was not changed: somebody was first.", "", "")
AWAY = CouldNotLook("It was asked, and did not answer.", "", "")


class Later:
    """A clock that is ahead."""

    def now(self) -> datetime:
        """See the port."""
        return SystemClock().now() + timedelta(hours=2)


def test_a_move_that_a_gateway_sends_twice_was_done(scene: Scene) -> None:
    """The second copy is refused because of the first one."""
    commit = scene.damaged.catalog.commit

    def twice(table: Any, change: TableChange) -> TableState:
        after = commit(table, change)
        if change.move_main_to is not None:
            raise LATE
        return after

    scene.damaged.catalog.commit = twice  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()

    assert scene.view.state is ProposalState.APPLIED
    assert scene.view.done[1].how == "done"
    assert scene.view.done[1].detail.endswith("(it had happened before it was refused)")
    assert scene.view.done[1].result["left"]
    assert scene.calls == ["stop", "start"]


def test_a_move_that_lands_while_it_is_prepared_anew_was_done(scene: Scene) -> None:
    """Its answer was lost, and it is not there yet; then the table has moved, by nobody but itself."""
    commit, load = scene.damaged.catalog.commit, scene.damaged.catalog.load
    sent: list[TableChange] = []

    def lost(table: Any, change: TableChange) -> TableState:
        if change.move_main_to is None:
            return commit(table, change)
        sent.append(change)
        raise OutcomeUnknown("The catalog did not answer.", "", "")

    def lands_after_it_is_read(table: Any) -> TableState:
        before = load(table)
        if sent:
            commit(table, sent.pop())
        return before

    scene.damaged.catalog.commit = lost  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.damaged.catalog.load = lands_after_it_is_read  # type: ignore[method-assign]
    scene.carries_on()

    assert first is ProposalState.EXECUTING
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_a_refusal_after_which_nobody_can_look_is_not_known(scene: Scene) -> None:
    """Neither refused nor done: it is looked at again, and goes on."""
    commit, load = scene.damaged.catalog.commit, scene.damaged.catalog.load

    def refused(table: Any, change: TableChange) -> TableState:
        commit(table, change)
        scene.damaged.catalog.load = away  # type: ignore[method-assign]
        raise LATE

    scene.damaged.catalog.commit = refused  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.damaged.catalog.load = load  # type: ignore[method-assign]
    scene.carries_on()

    assert first is ProposalState.UNKNOWN
    assert scene.view.state is ProposalState.APPLIED


def away(*_asked: Any, **_named: Any) -> Any:
    """A source that is down."""
    raise AWAY


def _catalog(scene: Scene) -> tuple[Any, str]:
    return scene.damaged.catalog, "load"


def _flink(scene: Scene) -> tuple[Any, str]:
    return scene.damaged.flink, "runs"


def _storage(scene: Scene) -> tuple[Any, str]:
    return scene.damaged.checkpoints, "read"


@pytest.mark.parametrize("source", [_catalog, _flink, _storage])
def test_a_source_that_is_away_after_the_stop_holds_it_up_and_no_more(
    scene: Scene, source: Callable[[Scene], tuple[Any, str]]
) -> None:
    """The job stands still: the approval must outlive a source that does not answer for a moment."""
    stop = scene.damaged.flink.stop
    port, name = source(scene)
    answers = getattr(port, name)

    def then_away(*asked: Any, **how: Any) -> Any:
        stopped = stop(*asked, **how)
        setattr(port, name, away)
        return stopped

    scene.begins()
    scene.damaged.flink.stop = then_away  # type: ignore[method-assign]
    scene.carries_on()
    scene.carries_on()
    meanwhile, noted = scene.view.state, notes(scene)
    setattr(port, name, answers)
    scene.carries_on()

    assert meanwhile is ProposalState.EXECUTING
    assert len(noted) == 1
    assert "stands still before “Move main to" in noted[0]
    assert "It was asked, and did not answer." in noted[0]
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_a_catalog_that_is_away_after_the_intent_holds_it_up_too(scene: Scene) -> None:
    """The intent is on record, and nothing was sent: it is prepared anew."""
    load = scene.damaged.catalog.load

    def only_before_the_intent(table: Any) -> TableState:
        if 1 in scene.view.started:
            raise AWAY
        return load(table)

    scene.begins()
    scene.damaged.catalog.load = only_before_the_intent  # type: ignore[method-assign]
    scene.carries_on()
    meanwhile = scene.view.state
    scene.damaged.catalog.load = load  # type: ignore[method-assign]
    scene.carries_on()

    assert meanwhile in {ProposalState.EXECUTING, ProposalState.UNKNOWN}
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


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
    assert "Carried out: Stop run bbbbbb. Not carried out: Move main" in scene.view.result.sentence


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
    assert "stands still before “Stop run bbbbbb”: Flink waited in vain. Looked afterwards: Run bbbbbb is" in noted[0]
    assert scene.view.state is ProposalState.REFUSED
    assert scene.view.result is not None
    assert "Carried out: nothing. Not carried out: Stop run bbbbbb" in scene.view.result.sentence


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


def intents(scene: Scene) -> list[int]:
    """Of which effects, in the order of the record."""
    entries = scene.store.get(scene.incident).entries
    return [entry.body.index for entry in entries if isinstance(entry.body, EffectStarted)]


def notes(scene: Scene) -> list[str]:
    """What was noted for people."""
    entries = scene.store.get(scene.incident).entries
    return [entry.body.text for entry in entries if isinstance(entry.body, NoteAdded)]
