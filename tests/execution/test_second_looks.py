"""Before a refusal is believed, the world is looked at; and where it cannot be looked at, the execution waits."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.domain.errors import OutcomeUnknown
from bot.domain.execution import ProposalState
from bot.domain.table import TableState
from bot.ports import TableChange
from tests.execution.away import AWAY, LATE, away, notes
from tests.execution.scene import Scene


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
    assert scene.view.done[1].detail.endswith("(it happened before the refusal)")
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
    assert "waits before “Move main to" in noted[0]
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
