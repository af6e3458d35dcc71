"""The other tables that a job writes: a restore goes on in each of them, whichever table an incident is about.

A restored run has a new job id, so its sink finds no newest checkpoint of its own in a table: whatever the table has
from after the restore point is committed a second time (facts 1.5).
"""

from collections.abc import Collection
from datetime import datetime

from bot.domain.diagnosis import Case
from bot.domain.end_of_main import EndOfMain
from bot.domain.evidence import Observation
from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.pairing import pairing
from bot.domain.put_back import without_put_back
from bot.domain.rewinds import flink_commits
from bot.domain.run_commits import CommitsByRun, RunCommits
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState


def written_after(
    stored: StoredCheckpoint, table: TableState, runs: Collection[JobId], own: CommitsByRun
) -> tuple[Snapshot, ...]:
    """The commits on main that the job made after restore point `stored`, oldest first: a restore makes them again.

    `runs`: those of the job that are known. Another run counts as the job's where its sink is the same operator, and
    where no commit of the job tells what its sinks are. `own`: of the table that is restored with the job. Where the
    run of `stored` has no commit up to it, or nothing tells from which of its starts that comes, time decides: not that
    of its file alone, as a copy is younger than what it holds.
    """
    commits = _of_the_job(stored, table, {*runs, *([stored.job_id] if stored.job_id else [])})
    held = CommitsByRun(table).of(stored).held_by(stored)
    told = [place for place, s in enumerate(commits) if s.snapshot_id in held]
    if not told:
        first = next((place for place, s in enumerate(commits) if s.job_id == stored.job_id), len(commits))
        latest = _latest(stored, own)
        told = [place for place, s in enumerate(commits[:first]) if s.committed_at <= latest]
    return tuple(commits[told[-1] + 1 :] if told else commits)


def standing(stored: StoredCheckpoint, case: Case) -> str:
    """What a restore from `stored`, after which the table of `case` has nothing, means for it: one clause."""
    table, end = case.observation.table, EndOfMain(case)
    told, newest = end.beside(pairing(stored, table, case.observation.jobs)), _newest(table)
    checkpoint = f"checkpoint {stored.checkpoint_id}"
    match told.verdict:
        case PairVerdict.PAIRED if told.snapshot_id == newest:
            return f"{checkpoint} pairs with its newest commit by Flink, {short(newest)}"
        case PairVerdict.PAIRED if told.snapshot_id not in table.chain_ids:
            return f"it lacks rows of {checkpoint} that the job does not read again: {_said(told.reason)}"
        case PairVerdict.AHEAD if end.is_of(stored.job_id):
            return f"{checkpoint} goes on right after its newest commit by Flink, {short(newest)}: {_said(told.reason)}"
        case PairVerdict.AHEAD:
            return f"{checkpoint} does not go on where its main ends: {_said(told.reason)}"
        case _:
            return (
                f"whether {checkpoint} pairs with its newest commit by Flink, {short(newest)}, is not known: "
                f"{_said(told.reason)}"
            )


def _said(reason: str) -> str:
    """As the end of a clause."""
    return reason.rstrip(".")


def pairs_below(stored: StoredCheckpoint, seen: Observation) -> SnapshotId | None:
    """The snapshot on main that pairs with `stored`; None where there is none."""
    found = pairing(stored, seen.table, seen.jobs).snapshot_id
    return found if found in seen.table.chain_ids else None


def in_words(after: tuple[Snapshot, ...]) -> str:
    """`3 commits, up to …421007 (checkpoint 9 of run b92e04)`."""
    last = after[-1]
    return (
        f"{counted(len(after), 'commit')}, up to {short(last.snapshot_id)} (checkpoint {last.checkpoint_id} of run "
        f"{short_job(last.job_id)})"
    )


def _of_the_job(stored: StoredCheckpoint, table: TableState, runs: Collection[JobId]) -> list[Snapshot]:
    commits = flink_commits(table)
    sinks = {s.operator_id for s in table.snapshots if s.job_id in runs and s.operator_id is not None}
    if not sinks:
        return list(without_put_back(commits, table))
    sinks |= set(stored.operator_ids)
    own = [s for s in commits if s.job_id in runs or s.operator_id is None or s.operator_id in sinks]
    return list(without_put_back(own, table))


def _latest(stored: StoredCheckpoint, own: CommitsByRun) -> datetime:
    """Not after which moment it was written."""
    of_start = own.of(stored).life_of(stored) or RunCommits(())
    _, latest = of_start.written(stored, own.ended(stored.job_id))
    return latest


def _newest(table: TableState) -> SnapshotId | None:
    commits = without_put_back(flink_commits(table), table)
    return commits[-1].snapshot_id if commits else None
