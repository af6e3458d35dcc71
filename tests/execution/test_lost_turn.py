"""Two executors, because one has lost its database session while it worked: what the other one wrote stands."""

from typing import Any

from bot.domain.entries import EffectEnded
from bot.domain.errors import CommitRefused, OutcomeUnknown
from bot.domain.execution import ProposalState
from bot.domain.ids import JobId
from bot.domain.table import TableState
from bot.ports import TableChange
from tests.execution.scene import Scene
from tests.little_flink import JOB


def test_who_is_refused_after_another_has_done_it_takes_nothing_back(scene: Scene) -> None:
    """The slow one's commit comes after the other has carried everything out."""
    commit, came = scene.damaged.catalog.commit, []

    def slow(table: Any, change: TableChange) -> TableState:
        if change.move_main_to is not None and not came:
            came.append(change)
            scene.carries_on()  # the other executor, meanwhile
        return commit(table, change)

    scene.damaged.catalog.commit = slow  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()

    assert came
    assert scene.view.state is ProposalState.APPLIED
    assert ends(scene) == [(0, "done"), (1, "done"), (2, "done")]
    assert scene.calls == ["stop", "start"]


def test_who_is_refused_while_another_tries_it_ends_nothing(scene: Scene) -> None:
    """The other's answer is still to come: whether it happened is not the slow one's to say."""
    commit, came = scene.damaged.catalog.commit, []

    def slow(table: Any, change: TableChange) -> TableState:
        if change.move_main_to is None or len(came) > 1:
            return commit(table, change)
        came.append(change)
        if len(came) > 1:
            raise OutcomeUnknown("The catalog did not answer.", "", "")
        scene.carries_on()
        raise CommitRefused("Table sales.orders was not changed.", "", "")

    scene.damaged.catalog.commit = slow  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    first = scene.view.state
    scene.carries_on()

    assert first is ProposalState.EXECUTING
    assert scene.view.state is ProposalState.APPLIED
    assert scene.calls == ["stop", "start"]


def test_who_comes_late_with_an_intent_begins_nothing(scene: Scene) -> None:
    """A second intent would choose a second job id; with the other's request still on its way that is two runs."""
    read, start, came = scene.damaged.checkpoints.read, scene.damaged.flink.start, []

    def slow(path: str) -> Any:
        if 1 in scene.view.done and not came:
            came.append(path)
            scene.carries_on()
        return read(path)

    def lost(job: str, path: str, job_id: JobId, **how: object) -> None:
        came.append(job_id)
        if len(came) > 2:
            start(job, path, job_id)
        else:
            raise OutcomeUnknown("Flink did not answer.", "", "")

    scene.damaged.checkpoints.read = slow  # type: ignore[method-assign]
    scene.damaged.flink.start = lost  # type: ignore[method-assign]
    scene.begins()
    scene.carries_on()
    scene.carries_on()
    start(JOB, came[0], JobId(came[1]))

    assert scene.view.state is ProposalState.APPLIED
    assert alive(scene) == [came[1]]
    assert scene.calls == ["stop", "start"]


def ends(scene: Scene) -> list[tuple[int, str]]:
    """Every end of an effect, in the order of the record."""
    entries = scene.store.get(scene.incident).entries
    return [(entry.body.index, entry.body.how) for entry in entries if isinstance(entry.body, EffectEnded)]


def alive(scene: Scene) -> list[JobId]:
    """Runs that are not at their end."""
    return [run.job_id for run in scene.damaged.flink.runs(JOB) if not run.is_terminal]
