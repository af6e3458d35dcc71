"""A second step of which nobody knows is told as such, not as the first one."""

from typing import Any

from bot.domain.errors import CouldNotLook, OutcomeUnknown
from bot.domain.execution import ProposalState
from bot.domain.settling import unknown_effect
from bot.ports import TableChange
from tests.execution.scene import Scene


def test_after_the_stop_was_found_the_move_is_what_is_not_known(scene: Scene) -> None:
    """What stands above the buttons is what they settle."""
    flink, commit, load = scene.damaged.flink, scene.damaged.catalog.commit, scene.damaged.catalog.load
    stop, run = flink.stop, flink.run

    def lost_stop(*asked: Any, **how: Any) -> Any:
        stop(*asked, **how)
        flink.run = gone  # type: ignore[method-assign]
        raise OutcomeUnknown("Flink did not answer.", "", "")

    def gone(_job_id: Any) -> None:
        return None

    def lost_move(_table: Any, change: TableChange) -> Any:
        if change.move_main_to is None:
            return commit(_table, change)
        scene.damaged.catalog.load = away  # type: ignore[method-assign]
        raise OutcomeUnknown("The catalog did not answer.", "", "")

    flink.stop = lost_stop  # type: ignore[method-assign]
    scene.damaged.catalog.commit = lost_move  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = told(scene)
    flink.run = run  # type: ignore[method-assign]
    scene.carries_on()
    second = told(scene)
    scene.damaged.catalog.load = load  # type: ignore[method-assign]

    assert first == (ProposalState.UNKNOWN, 0, "Stop run")
    assert second == (ProposalState.UNKNOWN, 1, "Move main")


def test_once_it_is_found_the_execution_goes_on_as_one_that_is_known(scene: Scene) -> None:
    """Between the steps nothing is left to be settled."""
    flink = scene.damaged.flink
    stop, run, read = flink.stop, flink.run, scene.damaged.checkpoints.read
    seen: list[tuple[ProposalState, bool]] = []

    def lost(*asked: Any, **how: Any) -> Any:
        stop(*asked, **how)
        flink.run = lambda _job_id: None  # type: ignore[method-assign]
        raise OutcomeUnknown("Flink did not answer.", "", "")

    def looked_at(path: str) -> Any:
        seen.append((scene.view.state, scene.view.result is None))
        return read(path)

    scene.begins()
    flink.stop = lost  # type: ignore[method-assign]
    scene.carries_on()
    flink.run = run  # type: ignore[method-assign]
    scene.damaged.checkpoints.read = looked_at  # type: ignore[method-assign]
    scene.carries_on()

    assert seen[0] == (ProposalState.EXECUTING, True)
    assert scene.view.state is ProposalState.APPLIED


def away(_table: Any) -> Any:
    """A catalog that is down."""
    raise CouldNotLook("The catalog did not answer.", "", "")


def told(scene: Scene) -> tuple[ProposalState, int | None, str]:
    """(state, what the buttons settle, the first two words of what is said above them)."""
    assert scene.view.result is not None
    return scene.view.state, unknown_effect(scene.view), " ".join(scene.view.result.sentence.split()[:2])
