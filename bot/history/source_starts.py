"""Runs that Flink restored while their source began anew.

A state belongs to the operators that wrote it. A source under another id (another uid, or another SQL plan, as with
`scan.parallelism`) finds none of it, and begins where its options say. The sink, whose id stayed, goes on as if
nothing were. Flink lets that happen with `allowNonRestoredState`.

The restore point and the run's next points tell it: both say which operator reads which topic.
"""

from collections.abc import Iterator
from typing import NamedTuple

from bot.domain.diagnosis import Case, once_a_case
from bot.domain.flink import JobRun, Restored, SourcePosition, StoredCheckpoint
from bot.domain.ids import OperatorId, short_job
from bot.domain.paths import may_be_same
from bot.domain.table import Snapshot


class SourceStart(NamedTuple):
    """A run that has left the state of its source behind."""

    run: JobRun
    restored: Restored
    left: tuple[SourcePosition, ...]
    """Where the old source would have gone on; at least one."""
    last_before: Snapshot
    """The job's newest commit with rows on main from before the run was restored."""
    first: Snapshot | None
    """The run's first commit with rows since; None: it has brought none."""


@once_a_case
def source_starts(case: Case) -> tuple[SourceStart, ...]:
    """Oldest first. Of runs of which Flink still shows the restore, and whose points are on storage."""
    return tuple(_all(case))


def source_in_doubt(case: Case) -> str | None:
    """What has to be known of a run that has completed no checkpoint yet, and has no operator of its point's sources;
    None: nothing."""
    for run, _, point, new in _restores(case):
        gone = {each.operator_id for each in point.source_positions} - {each.vertex_id for each in run.vertices}
        if new is None and gone and run.vertices and not run.is_terminal:
            which = _in_words(point.source_positions, gone)
            return f"whether the source of run {short_job(run.job_id)} began anew: it has no operator {which}"
    return None


def _all(case: Case) -> Iterator[SourceStart]:
    for run, restored, point, new in _restores(case):
        left = tuple(_left_behind(point, new)) if new is not None else ()
        own = [commit for commit in case.observation.table.of_flink if commit.adds_rows]
        since = [s for s in own if s.job_id == run.job_id and (s.checkpoint_id or 0) > restored.checkpoint_id]
        first = since[0] if since else None
        before = own[: own.index(first)] if first is not None else own
        if left and before:
            yield SourceStart(run, restored, left, before[-1], first)


def _restores(case: Case) -> Iterator[tuple[JobRun, Restored, StoredCheckpoint, StoredCheckpoint | None]]:
    """Each run with what it was restored from, and its first point since that is still there."""
    points = [point for point in case.observation.checkpoints.values if point.source_positions]
    for run in case.runs:
        restored = run.restored
        if restored is None or restored.path is None:
            continue
        point = next((each for each in points if may_be_same(each.path, restored.path)), None)
        later = (p for p in points if p.job_id == run.job_id and (p.checkpoint_id or 0) > restored.checkpoint_id)
        if point is not None:
            yield run, restored, point, min(later, key=lambda each: each.checkpoint_id or 0, default=None)


def _left_behind(point: StoredCheckpoint, new: StoredCheckpoint) -> Iterator[SourcePosition]:
    """Positions in a topic that another operator reads now, and the one that held them does not."""
    reads = {(each.operator_id, each.topic) for each in new.source_positions}
    topics = {each.topic for each in new.source_positions}
    for each in point.source_positions:
        if (each.operator_id, each.topic) not in reads and each.topic in topics:
            yield each


def _in_words(positions: tuple[SourcePosition, ...], gone: set[OperatorId]) -> str:
    first = next(each for each in positions if each.operator_id in gone)
    return f"{first.operator_id[:6]}, which held the offsets of {first.topic}"
