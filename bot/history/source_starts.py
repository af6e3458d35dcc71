"""Runs that Flink restored while their source began anew.

A state belongs to the operators that wrote it. A source under another id (another uid, or another SQL plan, as with
`scan.parallelism`) finds none of it, and begins where its options say. The sink, whose id stayed, goes on as if
nothing were. Flink lets that happen with `allowNonRestoredState`.

The restore point and the run's next points tell it: both say which operator reads which topic, and how far it has come.
A source that has come less far than its state said found other offsets in the topic: the topic was made anew, or lost
its newest records, and the source began where its options say.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bot.history.case import Case, once_a_case
from bot.observation.contract import TableContract
from bot.observation.evidence import Observation
from bot.observation.flink import JobRun, Restored, SourcePosition, StoredCheckpoint
from bot.observation.ids import OperatorId, short_job
from bot.observation.paths import may_be_same
from bot.observation.table import Snapshot


class SourceStart(NamedTuple):
    """A run whose source did not go on where the state of its restore point ends."""

    run: JobRun
    restored: Restored
    left: tuple[SourcePosition, ...]
    """Where the state would have gone on; at least one."""
    reached: SourcePosition
    """How far the source had come by the run's next point, in the partition of the first of these."""
    last_before: Snapshot
    """The job's newest commit with rows on main from before the run was restored."""
    first: Snapshot | None
    """The run's first commit with rows since; None: it has brought none."""

    @property
    def went_back(self) -> bool:
        """Whether the source kept its state, and found other offsets."""
        return self.left[0].operator_id == self.reached.operator_id


@once_a_case
def source_starts(case: Case) -> tuple[SourceStart, ...]:
    """Oldest first. Of runs of which Flink still shows the restore, and whose points are on storage."""
    return tuple(_all(case))


def source_in_doubt(case: Case) -> str | None:
    """What has to be known of a run that has completed no checkpoint yet, and has no operator of its point's sources;
    None: nothing."""
    for run, _, point, new in _restores(case.runs, case.observation):
        gone = {each.operator_id for each in point.source_positions} - {each.vertex_id for each in run.vertices}
        if new is None and gone and run.vertices and not run.is_terminal:
            which = _in_words(point.source_positions, gone)
            return f"whether the source of run {short_job(run.job_id)} began anew: it has no operator {which}"
    return None


def _all(case: Case) -> Iterator[SourceStart]:
    for run, restored, point, new in _restores(case.runs, case.observation):
        told = tuple(_not_gone_on(point, new)) if new is not None else ()
        if not told:
            continue
        own = [commit for commit in case.observation.table.of_flink if commit.adds_rows]
        since = [s for s in own if s.job_id == run.job_id and (s.checkpoint_id or 0) > restored.checkpoint_id]
        first = since[0] if since else None
        before = own[: own.index(first)] if first is not None else own
        if before:
            yield SourceStart(run, restored, tuple(each for each, _ in told), told[0][1], before[-1], first)


def went_back(observation: Observation, contract: TableContract) -> str | None:
    """What is said of the first source that found other offsets than its state names; None: none did."""
    for run, restored, point, new in _restores(observation.jobs.values, observation):
        for one, reached in _not_gone_on(point, new) if new is not None else ():
            if one.operator_id == reached.operator_id:
                return went_back_in_words(run, restored, one, reached, contract)
    return None


def went_back_in_words(
    run: JobRun, restored: Restored, one: SourcePosition, reached: SourcePosition, contract: TableContract
) -> str:
    """Where a source that kept its state should have gone on, and how far it came instead: two sentences, without
    positions and partitions that the contract hides."""
    following, came_to = (contract.shown(contract.position, each.following) for each in (one, reached))
    partition = contract.shown(contract.position_partition, one.partition)
    return (
        f"Flink restored run {short_job(run.job_id)} from checkpoint {restored.checkpoint_id} to go on with offset "
        f"{following} of {one.topic}, partition {partition}, and it came to {came_to}. The topic was made anew, or "
        "lost its newest records."
    )


def _restores(
    runs: Iterable[JobRun], observation: Observation
) -> Iterator[tuple[JobRun, Restored, StoredCheckpoint, StoredCheckpoint | None]]:
    """Each run with what it was restored from, and its first point since that is still there."""
    points = [point for point in observation.checkpoints.values if point.source_positions]
    for run in runs:
        restored = run.restored
        if restored is None or restored.path is None:
            continue
        point = next((each for each in points if may_be_same(each.path, restored.path)), None)
        later = (p for p in points if p.job_id == run.job_id and (p.checkpoint_id or 0) > restored.checkpoint_id)
        if point is not None:
            yield run, restored, point, min(later, key=lambda each: each.checkpoint_id or 0, default=None)


def _not_gone_on(point: StoredCheckpoint, new: StoredCheckpoint) -> Iterator[tuple[SourcePosition, SourcePosition]]:
    """Positions of a state with how far the topic's partition is read now: by another operator, as the one that held
    them does not read the topic, or by the same one and not so far."""
    reads = {(each.operator_id, each.topic) for each in new.source_positions}
    now = {(each.topic, each.partition): each for each in new.source_positions}
    for each in point.source_positions:
        reached = now.get((each.topic, each.partition))
        if reached is None:
            continue
        is_other = (each.operator_id, each.topic) not in reads
        if is_other or (each.operator_id == reached.operator_id and 0 <= reached.following < each.following):
            yield each, reached


def _in_words(positions: tuple[SourcePosition, ...], gone: set[OperatorId]) -> str:
    first = next(each for each in positions if each.operator_id in gone)
    return f"{first.operator_id[:6]}, which held the offsets of {first.topic}"
