"""Whether the head of main is the one that was approved, or came of it only by what may follow it."""

from collections.abc import Mapping, Sequence
from itertools import takewhile

from bot.actions._binding import binding_of
from bot.actions._world import World
from bot.domain.clock_time import clock_time
from bot.domain.ids import JobId, OperatorId, SnapshotId, short, short_job
from bot.domain.other_writers import keeps_its_rows
from bot.domain.requirements import HeadDescends
from bot.domain.table import Snapshot, TableState


def unforeseen(requirement: HeadDescends, world: World) -> str | None:
    """Why the head is neither the one that was approved nor descends from it only by what may follow it. Flink is asked
    only where somebody else has committed. Raises CouldNotLook."""
    table, head = world.table, requirement.head
    if head not in table.chain_ids:
        return (
            f"Approved for head {short(head)}; now the head is {short(table.head)}, which does not descend from it: "
            "the table was rolled back or its snapshots expired."
        )
    if requirement.by_anybody:
        return None
    newer = list(takewhile(lambda s: s.snapshot_id != head, table.chain))[::-1]
    others = _not_of_run(table, head, requirement.job_id, newer)
    found = next(iter(_that_matter(others, requirement, world) if requirement.starts and others else others), None)
    if found is None:
        return None
    return (
        f"Approved for head {short(head)} ({_allowed(requirement)}); now {short(found.snapshot_id)} was committed by "
        f"{committer(found)} at {clock_time(found.committed_at, table.read_at, seconds=True)}."
    )


def _allowed(requirement: HeadDescends) -> str:
    run = [f"commits of run {short_job(requirement.job_id)}"] if requirement.job_id else []
    guests = [f"what other Flink jobs that wrote beside {requirement.starts} commit"] if requirement.starts else []
    return " and ".join(("the head itself", *run, *guests)) if run or guests else "exactly this head"


def _that_matter(others: Sequence[Snapshot], requirement: HeadDescends, world: World) -> Sequence[Snapshot]:
    """Of `others` those that are no compaction, unless files are named, and no guest's. Raises CouldNotLook."""
    job, run, is_exact = requirement.starts, requirement.goes_on_from or requirement.job_id, requirement.files_are_named
    changing = [s for s in others if is_exact or s.job_id is not None or not keeps_its_rows(world.table, s)]
    by_flink = frozenset(s.job_id for s in changing if s.job_id is not None)
    if job is None or run is None or not by_flink:
        return changing
    bound = {s.snapshot_id for s in binding_of(world, job, run, world.jobs[job].flink.runs(job), by_flink)}
    return [s for s in changing if s.job_id is None or s.snapshot_id in bound]


def _not_of_run(
    table: TableState, head: SnapshotId, job_id: JobId | None, newer: Sequence[Snapshot]
) -> Sequence[Snapshot]:
    """Those that are not the run's, or repeat what it had committed. All are oldest first."""
    reached, found = _reached(table, head, job_id), []
    for snapshot in newer:
        if job_id is None or snapshot.job_id != job_id or not _rises(snapshot, reached):
            found.append(snapshot)
        else:
            reached[snapshot.operator_id] = snapshot.checkpoint_id or 0
    return found


def _reached(table: TableState, head: SnapshotId, job_id: JobId | None) -> dict[OperatorId | None, int]:
    """Sink -> the checkpoint that it has committed: of the run's sinks that made the head and what lies right below it,
    each with another. Several sinks of one job commit the same checkpoints, one after the other."""
    found: dict[OperatorId | None, int] = {}
    for snapshot in table.ancestors(head):
        if job_id is None or snapshot.job_id != job_id or snapshot.operator_id in found:
            break
        found[snapshot.operator_id] = snapshot.checkpoint_id or 0
    return found


def _rises(snapshot: Snapshot, reached: Mapping[OperatorId | None, int]) -> bool:
    """Whether it goes on above what its sink has committed; one that names no sink may be any."""
    if snapshot.operator_id is None:
        below = max(reached.values(), default=None)
    else:
        below = max((reached[of] for of in (snapshot.operator_id, None) if of in reached), default=None)
    return below is None or (snapshot.checkpoint_id is not None and snapshot.checkpoint_id > below)


def committer(snapshot: Snapshot) -> str:
    """Who wrote a commit, in words: Flink run and checkpoint, or engine and application."""
    if snapshot.job_id:
        return f"Flink run {short_job(snapshot.job_id)} (checkpoint {snapshot.checkpoint_id})"
    app = snapshot.summary.get("spark.app.id") or snapshot.summary.get("app-id")
    return f"{snapshot.engine} app {app}" if app else f"{snapshot.engine} ({snapshot.operation})"
