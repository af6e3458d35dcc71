"""The other tables that a job writes: a restore goes on in each of them, whichever table an incident is about.

A restored run has a new job id, so its sink finds no newest checkpoint of its own in a table: whatever the table has
from after the restore point is committed a second time (facts 1.5).
"""

from collections.abc import Collection

from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.pairing import pairing
from bot.domain.put_back import without_put_back
from bot.domain.rewinds import flink_commits
from bot.domain.run_commits import lives
from bot.domain.sentences import counted
from bot.domain.table import Snapshot, TableState

_NOT_ASKED = NotSeen(source="Flink", reason="Only the table is asked.", remedy="")


def written_after(stored: StoredCheckpoint, table: TableState, runs: Collection[JobId]) -> tuple[Snapshot, ...]:
    """The commits on main that the job made after restore point `stored`, oldest first: a restore makes them again.

    `runs`: those of the job that are known. Another run counts as the job's where its sink is the same operator, and
    where no commit of the job tells what its sinks are. Where the run of `stored` has no commit up to it, time decides.
    """
    commits = _of_the_job(stored, table, {*runs, *([stored.job_id] if stored.job_id else [])})
    held = _newest_held(stored, commits)
    if held is None:
        before = [index for index, s in enumerate(commits) if not _is_after(stored, s)]
        return tuple(commits[before[-1] + 1 :] if before else commits)
    return tuple(commits[held + 1 :])


def standing(stored: StoredCheckpoint, table: TableState) -> str:
    """What a restore from `stored`, after which the table has nothing, means for it: one clause."""
    told, newest = pairing(stored, table, _NOT_ASKED), _newest(table)
    checkpoint = f"checkpoint {stored.checkpoint_id}"
    match told.verdict:
        case PairVerdict.PAIRED if told.snapshot_id == newest:
            return f"{checkpoint} pairs with its newest commit by Flink, {short(newest)}"
        case PairVerdict.PAIRED if told.snapshot_id not in table.chain_ids:
            return f"it lacks rows of {checkpoint} that the job does not read again: {told.reason.rstrip('.')}"
        case PairVerdict.AHEAD:
            return f"it lacks what {checkpoint} holds: {told.reason.rstrip('.')}"
        case _:
            return (
                f"whether {checkpoint} pairs with its newest commit by Flink, {short(newest)}, is not known: "
                f"{told.reason.rstrip('.')}"
            )


def pairs_below(stored: StoredCheckpoint, table: TableState) -> SnapshotId | None:
    """The snapshot on main that pairs with `stored`; None where there is none."""
    found = pairing(stored, table, _NOT_ASKED).snapshot_id
    return found if found in table.chain_ids else None


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


def _newest_held(stored: StoredCheckpoint, commits: list[Snapshot]) -> int | None:
    """The place of the newest commit that `stored` holds, of its own run; None where there is none."""
    own = [(index, s) for index, s in enumerate(commits) if s.job_id == stored.job_id]
    if not own:
        return None
    told = lives(s for _, s in own)
    _, closest = min(own, key=lambda each: abs(each[1].committed_at - stored.written_at))
    life, reached = told[closest.snapshot_id], stored.checkpoint_id or CheckpointId(0)
    held = [
        index
        for index, s in own
        if told[s.snapshot_id] < life or (told[s.snapshot_id] == life and (s.checkpoint_id or 0) <= reached)
    ]
    return held[-1] if held else None


def _is_after(stored: StoredCheckpoint, commit: Snapshot) -> bool:
    if commit.job_id == stored.job_id:
        return True
    return commit.committed_at > stored.written_at


def _newest(table: TableState) -> SnapshotId | None:
    commits = without_put_back(flink_commits(table), table)
    return commits[-1].snapshot_id if commits else None
