"""Starts of the job after a rollback was explained that go back to the state of what main lost."""

from typing import NamedTuple

from bot.domain.beside_a_rollback import Scene
from bot.domain.flink import JobRun
from bot.domain.held_states import held_of_writer
from bot.domain.ids import DRAINED, JobId
from bot.domain.kin import writer_of
from bot.domain.table import Snapshot


class LaterStart(NamedTuple):
    """A run whose state is that of a run that main lost commits of, as the path of its restore point says."""

    run: JobId
    commit: Snapshot | None
    """Its first on main since; None while it is silent."""
    is_beyond: bool
    """Whether its checkpoint lies above all that main had brought again by then: what lies between never comes. Else
    the ids do not tell whether main has brought it."""


def start_from_what_was_lost(scene: Scene, after: Snapshot) -> LaterStart | None:
    """The first of them that was restored after the commit `after`, and has committed since, or lives; None: there is
    none."""
    starts = (_start(scene, run, after) for run in sorted(scene.runs.values(), key=lambda run: run.started_at))
    return next((start for start in starts if start is not None), None)


def _start(scene: Scene, run: JobRun, after: Snapshot) -> LaterStart | None:
    point = run.restored
    writer = writer_of(point.path) if point is not None else None
    if point is None or writer is None or point.at <= after.committed_at:
        return None
    before = [s for s in scene.above if s.committed_at <= point.at]
    is_told = not any(s.job_id is not None and s.job_id.startswith(writer) for s in before)
    if not is_told or not held_of_writer(scene, point.checkpoint_id, writer, scene.left):
        return None
    commit = next((s for s in scene.above if s.job_id == run.job_id and s.committed_at > point.at), None)
    if commit is None and run.is_terminal:
        return None
    ids = (s.checkpoint_id or 0 for s in before)
    reached = max((each for each in ids if each < DRAINED), default=0)
    return LaterStart(run.job_id, commit, point.checkpoint_id > reached)
