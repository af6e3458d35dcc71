"""What anybody but the job committed to main in the window.

A cherry-pick keeps no Flink ids. One of a commit of the job puts the job's rows back; one of what another writer had
staged (write-audit-publish) brings that writer's change.

Commits by Flink runs that are not the job's: another job may add rows, as for a backfill; here it is told where one
took rows off.

Flink's sinks of a stream never take data files off the table: only INSERT OVERWRITE and jobs that rewrite it do.

A snapshot never changes, so what was compared once of a compaction holds of it for ever."""

from bot.diagnosis._support.asked import unasked
from bot.diagnosis._support.case import in_window, not_asked
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs
from bot.history.other_writers import (
    changes_rows_without_flink,
    converted_from,
    counts_no_rows,
    keeps_its_rows,
    leaves_rows_open,
    origin_of,
    picked_from,
    rows_lost_by_replacing,
)
from bot.history.starts import flink_commits
from bot.incident.diagnosis import CannotTell
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

COMPARES = "corrected_rows"
"""The task that compares the keys before and after a compaction."""


def lost_by(case: Case, snapshot: Snapshot) -> int:
    """Rows that a compaction is known to have lost; 0 for any other commit."""
    if snapshot.operation != "replace":
        return 0
    compared = _compared(case, snapshot)
    return rows_lost_by_replacing(case.observation.table, snapshot) if compared is None else compared


def is_known_to_keep_rows(case: Case, snapshot: Snapshot) -> bool:
    """Whether what was live before this commit is known to be live after it: it added rows only, or moved them and lost
    none. What nobody counted or compared is not known."""
    table = case.observation.table
    if snapshot.operation == "append":
        return True
    return keeps_its_rows(table, snapshot) and not lost_by(case, snapshot) and not _is_open(case, snapshot)


def unsettled_compactions(case: Case) -> CannotTell | None:
    """What is missing to know that no compaction of the window lost rows; None: nothing is."""
    table = case.observation.table
    open_still = [s for s in in_window(case) if _is_open(case, s) and not rows_lost_by_replacing(table, s)]
    if not open_still:
        return None
    first, more = open_still[0], len(open_still) - 1
    which = f"{short(first.snapshot_id)}" + (f" and {counted(more, 'more compaction')}" if more else "")
    return CannotTell(
        missing=(f"{not_asked(case, COMPARES)}: compaction {which} {_left_open(case, first)}",),
        asks=unasked(case, COMPARES),
    )


def _left_open(case: Case, compaction: Snapshot) -> str:
    if counts_no_rows(case.observation.table, compaction):
        return "does not count the rows that it read; only the keys before and after it show whether it kept them"
    return (
        "wrote fewer rows than it read, and the deletes that it removed do not account for them. Only the keys before "
        "and after it show whether other deletes do"
    )


def _is_open(case: Case, snapshot: Snapshot) -> bool:
    """Whether counters leave open what a compaction kept, and nobody compared."""
    return leaves_rows_open(case.observation.table, snapshot) and _compared(case, snapshot) is None


def _compared(case: Case, snapshot: Snapshot) -> int | None:
    """Rows that evidence found lost; None where nobody compared."""
    told = case.corrected.compactions if case.corrected is not None else ()
    return next((each.lost for each in told if each.snapshot_id == snapshot.snapshot_id), None)


_DELETES = ("added-delete-files", "added-position-deletes", "added-equality-deletes")


def is_overwrite(snapshot: Snapshot) -> bool:
    """Whether a Flink run took whole files off the table, or replaced partitions; a compaction is none."""
    if snapshot.job_id is None or snapshot.is_repair or snapshot.operation not in {"overwrite", "delete"}:
        return False
    took = snapshot.counted("deleted-data-files") or snapshot.counted("deleted-records")
    return bool(took) or snapshot.summary.get("replace-partitions") == "true"


def took_for_other_job(case: Case, other_jobs: OtherJobs, snapshot: Snapshot) -> bool:
    """Whether a Flink run that is not the job's took rows off: files of them, or by delete files of another sink.
    `other_jobs`: of this case."""
    if snapshot.job_id is None or snapshot.job_id in other_jobs.own or snapshot.is_repair:
        return False
    if is_overwrite(snapshot):
        return (
            snapshot.job_id in other_jobs.of_other_jobs
            or _is_stream(case)
            or _is_beside_appends(case, other_jobs, snapshot)
        )
    return any(snapshot.counted(key) for key in _DELETES) and other_jobs.has(snapshot)


def _is_stream(case: Case) -> bool:
    """Whether a run of the job takes checkpoints: then no run of it overwrites, also one that Flink has forgotten."""
    return any(run.checkpoints or run.restored is not None for run in case.runs)


def _is_beside_appends(case: Case, other_jobs: OtherJobs, snapshot: Snapshot) -> bool:
    """Whether the job, or where Flink lists none of its runs whoever else wrote, does not overwrite: a table that a
    batch job writes anew each night has runs that Flink has forgotten."""
    others = [s for s in flink_commits(case.observation.table) if s.job_id != snapshot.job_id]
    mine = [s for s in others if s.job_id in other_jobs.own] or others
    return any(not is_overwrite(s) for s in mine)


def changes_without_job(case: Case) -> tuple[Snapshot, ...]:
    """Commits that changed which rows are live and carry no Flink job id, whatever they were picked from, or are of
    another Flink job and took rows off; oldest first. What an approved repair of ours led to is looked at elsewhere."""
    table, other_jobs = case.observation.table, OtherJobs(case)
    return tuple(
        s
        for s in in_window(case)
        if changes_rows_without_flink(table, s) or lost_by(case, s) or took_for_other_job(case, other_jobs, s)
    )


def changes_by_others(case: Case) -> tuple[Snapshot, ...]:
    """Those of them that are known to be no commit of the job put back."""
    origins = ((s, origin_of(case.observation.table, s)) for s in changes_without_job(case))
    return tuple(s for s, origin in origins if origin is not None and not _is_put_back(case, s, origin))


def unknown_writer(case: Case) -> str | None:
    """What is missing to know whose these changes are: no commit on main is of a Flink run. None: nothing is."""
    if not changes_by_others(case) or any(s.job_id for s in case.observation.table.chain):
        return None
    return (
        "who should write the table: no commit on main carries a Flink job id (Flink CDC and Kafka Connect write none)"
    )


def _is_put_back(case: Case, snapshot: Snapshot, origin: Snapshot) -> bool:
    """Whether it is a cherry-pick of what the job, or another job that only added rows, had committed."""
    is_pick = origin.snapshot_id != snapshot.snapshot_id
    return is_pick and origin.job_id is not None and not took_for_other_job(case, OtherJobs(case), origin)


def unknown_pick(case: Case) -> str | None:
    """What is missing to know whose change a cherry-pick brought: its source is not listed. None: nothing is."""
    table = case.observation.table
    found = next((s for s in changes_without_job(case) if origin_of(table, s) is None), None)
    if found is None:
        return None
    staged = converted_from(found)
    how = f"a cherry-pick of {short(picked_from(found))}" if staged is None else f"a conversion of {short(staged)}"
    return (
        f"whose change {short(found.snapshot_id)} ({found.operation}) brought: it is {how}, whose writer the metadata "
        "does not list any more"
    )
