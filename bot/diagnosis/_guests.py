"""Commits by Flink runs that are not the job's: a guest may add rows, as for a backfill; here it is told where one took
rows off.

Flink's sinks of a stream never take data files off the table: only INSERT OVERWRITE and jobs that rewrite it do.
"""

from bot.domain.diagnosis import Case
from bot.domain.guests import Guests
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot

_DELETES = ("added-delete-files", "added-position-deletes", "added-equality-deletes")


def is_overwrite(snapshot: Snapshot) -> bool:
    """Whether a Flink run took whole files off the table, or replaced partitions; a compaction is none."""
    if snapshot.job_id is None or snapshot.is_repair or snapshot.operation not in {"overwrite", "delete"}:
        return False
    took = snapshot.counted("deleted-data-files") or snapshot.counted("deleted-records")
    return bool(took) or snapshot.summary.get("replace-partitions") == "true"


def took_as_guest(case: Case, guests: Guests, snapshot: Snapshot) -> bool:
    """Whether a Flink run that is not the job's took rows off: files of them, or by delete files of another sink.
    `guests`: of this case."""
    if snapshot.job_id is None or snapshot.job_id in guests.own or snapshot.is_repair:
        return False
    if is_overwrite(snapshot):
        return snapshot.job_id in guests.of_other_jobs or _is_stream(case) or _is_beside_appends(case, guests, snapshot)
    return any(snapshot.counted(key) for key in _DELETES) and guests.has(snapshot)


def _is_stream(case: Case) -> bool:
    """Whether a run of the job takes checkpoints: then no run of it overwrites, also one that Flink has forgotten."""
    return any(run.checkpoints or run.restored is not None for run in case.runs)


def _is_beside_appends(case: Case, guests: Guests, snapshot: Snapshot) -> bool:
    """Whether the job, or where Flink lists none of its runs whoever else wrote, does not overwrite: a table that a
    batch job writes anew each night has runs that Flink has forgotten."""
    others = [s for s in flink_commits(case.observation.table) if s.job_id != snapshot.job_id]
    mine = [s for s in others if s.job_id in guests.own] or others
    return any(not is_overwrite(s) for s in mine)
