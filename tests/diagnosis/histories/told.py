"""A history in words: what happened step by step, and what main, Flink and storage are like in the end."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple, Self

from bot.observation.flink import JobRun
from bot.observation.ids import SnapshotId, short
from bot.observation.table import Snapshot
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.shown import jobs_shown
from tests.diagnosis.histories.sink import Written
from tests.diagnosis.histories.source import STRIDE, stand_in_words
from tests.diagnosis.histories.truth import ranges_of


class Marks(NamedTuple):
    """Where a history stood: what is new since then is what a step did."""

    at: datetime
    commits: int
    points: int
    run: str
    shown: JobRun
    head: SnapshotId | None

    @classmethod
    def of(cls, history: History) -> Self:
        """As it stands now."""
        table, job = history.table, history.job
        return cls(history.tale.now, len(table.commits), len(job.points), job.run, job.shown, history.tale.head)


def step_in_words(history: History, name: str, before: Marks) -> str:
    """When it began, what it was, and what came of it."""
    return f"{before.at:%T} {name}: {'; '.join(_came_of_it(history, before)) or 'nothing comes of it'}"


def standing_in_words(history: History) -> tuple[str, ...]:
    """What there is in the end, and what Flink shows of it, a line each."""
    on_main = {s.snapshot_id for s in history.table.chain}
    commits = (
        f"{'main  ' if s.snapshot_id in on_main else 'beside'} {_commit(history, s)}, parent "
        f"{short(s.parent_id) if s.parent_id else 'none'}"
        for s in history.tale.snapshots
    )
    moves = ", ".join(f"{move.at:%T} {short(move.snapshot_id)}" for move in history.tale.moves)
    waits = ", ".join(_written(each) for each in history.sink.pending) or "nothing"
    left = ", ".join(_written(each) for each in history.sink.manifests.values()) or "none"
    return (
        *commits,
        f"main's log: {moves}",
        *(_run(run) for run in reversed(jobs_shown(history).values)),
        f"source at {stand_in_words(history.stand)}; the sink's state lists {waits}; Flink manifests on "
        f"storage: {left}; orphan files: {len(history.table.orphans)}; now {history.tale.now:%T}",
    )


def positions_in_words(positions: Iterable[int]) -> str:
    """`0-3, 5`; of other partitions than the first `1:0-3`."""
    ranges = ((first // STRIDE, first % STRIDE, last % STRIDE) for first, last in ranges_of(positions))
    told = (f"{f'{of}:' if of else ''}{first}{f'-{last}' if last > first else ''}" for of, first, last in ranges)
    return ", ".join(told) or "none"


def _came_of_it(history: History, before: Marks) -> Iterator[str]:
    job, shown = history.job, history.job.shown
    if job.run != before.run or shown.started_at != before.shown.started_at:
        where = f"checkpoint {shown.restored.checkpoint_id} at {shown.restored.path}" if shown.restored else "nothing"
        yield f"run {job.run} starts from {where}, source at {stand_in_words(job.position)}"
    elif shown.restored != before.shown.restored and shown.restored is not None:
        yield f"run {job.run} goes on from its checkpoint {shown.restored.checkpoint_id}"
    for point in job.points[before.points :]:
        stands = stand_in_words(point.position)
        yield f"run {point.run} completes {point.kind.value} {point.checkpoint}, source at {stands}"
    made = history.table.commits[before.commits :]
    for commit in made:
        yield f"commit {_commit(history, commit)}"
    if history.tale.head != before.head and history.tale.head not in {commit.snapshot_id for commit in made}:
        yield f"main is set to {short(history.head)}"
    if job.is_stuck:
        yield f"run {job.run} fails at each restore: a Flink manifest is gone"


def _commit(history: History, commit: Snapshot) -> str:
    told = f"{short(commit.snapshot_id)} at {commit.committed_at:%T}: {commit.operation}"
    if commit.job_id is not None:
        told += f" of run {commit.job_id[0]}, checkpoint {commit.checkpoint_id}"
    rows = history.table.holds[commit.snapshot_id]
    return f"{told}, positions {positions_in_words(rows)}" if rows else f"{told}, no position"


def _run(run: JobRun) -> str:
    point = run.restored
    whence = f", restored {run.restored_count} times, at {point.at:%T} from {point.checkpoint_id}" if point else ""
    listed = ", ".join(f"{c.checkpoint_id} {c.status.lower()} {c.triggered_at:%T}" for c in reversed(run.checkpoints))
    return f"run {run.job_id[0]} {run.state} since {run.started_at:%T}{whence}; checkpoints: {listed or 'none'}"


def _written(written: Written) -> str:
    return f"{written.run}'s {written.checkpoint} (positions {positions_in_words(written.rows)})"
