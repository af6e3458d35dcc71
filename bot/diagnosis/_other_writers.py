"""What anybody but the job committed to main in the window, told by operation and counters of the commits."""

from bot.diagnosis._case import in_window
from bot.domain.diagnosis import Case
from bot.domain.table import Snapshot, TableState

_CHANGES = ("added-", "deleted-", "removed-")
_TOTALS = ("total-records", "total-data-files", "total-delete-files")
_REMOVED_DELETES = ("removed-delete-files", "removed-position-deletes", "removed-equality-deletes", "removed-dvs")


def changes_by_others(case: Case) -> tuple[Snapshot, ...]:
    """Commits without a Flink job id that changed which rows are live, oldest first. A compaction is none, as long as
    it kept its rows; nor is a commit of nothing, nor an approved repair of ours, which is looked at by what it led to.
    """
    table = case.observation.table
    return tuple(
        s
        for s in in_window(case)
        if s.job_id is None
        and not s.is_repair
        and not _brought_nothing(table, s)
        and (s.operation != "replace" or rows_lost_by_replacing(table, s) > 0)
    )


def _brought_nothing(table: TableState, snapshot: Snapshot) -> bool:
    """Whether the commit counts no change, and totals as before: so the dynamic sink begins an empty table (seen with
    Iceberg 1.11). False where it counts no totals."""
    parent = table.by_id.get(snapshot.parent_id) if snapshot.parent_id is not None else None
    if any(snapshot.counted(key) for key in snapshot.summary if key.startswith(_CHANGES)):
        return False
    if snapshot.parent_id is not None and parent is None:
        return False
    return all(
        key in snapshot.summary and snapshot.counted(key) == (parent.counted(key) if parent else 0) for key in _TOTALS
    )


def rows_lost_by_replacing(table: TableState, snapshot: Snapshot) -> int:
    """Rows that a `replace` did not write again; 0 where it worked deletes in, or where no counter tells."""
    if any(snapshot.counted(key) for key in _REMOVED_DELETES):
        return 0
    parent = table.by_id.get(snapshot.parent_id) if snapshot.parent_id is not None else None
    if "deleted-records" in snapshot.summary:
        return max(snapshot.counted("deleted-records") - snapshot.counted("added-records"), 0)
    if parent is not None and "total-records" in parent.summary and "total-records" in snapshot.summary:
        return max(parent.counted("total-records") - snapshot.counted("total-records"), 0)
    return 0


def picked_from(snapshot: Snapshot) -> str | None:
    """The snapshot that a cherry-pick copied, in full; None for any other commit."""
    return snapshot.summary.get("source-snapshot-id")


def name_of(snapshot: Snapshot) -> str:
    """The writer as the summary tells: `spark application local-17`, `flink 2.1`, `an unknown writer`."""
    application = snapshot.summary.get("spark.app.id") or snapshot.summary.get("app-id")
    if application:
        return f"{snapshot.engine} application {application}"
    return "an unknown writer" if snapshot.engine == "unknown" else snapshot.engine
