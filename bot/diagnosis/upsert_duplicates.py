"""F16 and F17: two rows of one key live in an upsert table, because no equality delete reaches the older one.

F16: an equality delete applies only to files with a lower sequence number, so rows of the same commit survive it: seen
when results of two checkpoints were put into one commit (the V2 sink after a failed checkpoint, run with Iceberg 1.11;
both sinks before 1.7) and in CDC sinks.

F17: it applies to its own partition; and what two subtasks write for one checkpoint gets one sequence number. So an
upsert table needs its rows distributed by key, and its partition fields within the key.
"""

from collections.abc import Set

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.upsert import why_upsert
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import DuplicatesFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.ledger import LedgerRow, SkipReason
from bot.observation.sentences import counted

_NEEDS = ("ledger", "duplicate_rows")
_IN_ONE_COMMIT = Mode(
    code="F16",
    name="upsert_duplicates_in_one_commit",
    title="one commit of an upsert table holds two rows of a key",
    needs=_NEEDS,
    false_positives=("A key in the contract that is wider or narrower than the job's equality fields.",),
    neighbours={
        "F2": "There the copies of a key are of two runs. Here they are of one commit.",
        "F17": "There the rows of a key came from different subtasks, or lie in different partitions. Here "
        "one commit holds both, by one subtask.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.DEDUPLICATE_ROWS,),
)
_ACROSS_WRITERS = Mode(
    code="F17",
    name="upsert_duplicates_across_writers",
    title="rows of one key were written by different subtasks or into different partitions",
    needs=_NEEDS,
    false_positives=(
        "A table that keeps one row of a key in each partition by design.",
        "A partition field that changes over a key's life, as a status does.",
    ),
    neighbours={
        "F16": "There one commit holds both rows, by one subtask. Here they came from different subtasks, "
        "or lie in different partitions.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.DEDUPLICATE_ROWS,),
)
_BROUGHT_LATER = (SkipReason.MERGED, SkipReason.FAILED)
"""Checkpoints whose files the next commit brought along."""


def in_one_commit(case: Case) -> Examined:
    """Matches on keys with two copies by one commit, of a table that is written by key."""
    if missing := lacking(case, *_NEEDS):
        return CannotTell(missing=missing)
    found, upsert = case.duplicates, why_upsert(case)
    assert found is not None
    inside, subtasks = found.within_commit, found.across_subtasks
    if not inside and found.hidden and upsert is not None:
        return _cannot_tell_which(found)
    if not inside:
        told = f"All {found.keys} repeated keys have" if found.keys else "No key lives twice, so none has"
        return Excluded(reason=f"{told} no two copies by one commit.")
    if upsert is None:
        return Excluded(
            reason=f"{inside} keys came twice within one commit, but the job only appends, so no delete was to remove "
            "one: the source gave them twice, or upsert is not enabled where it should be."
        )
    if subtasks >= inside and found.hidden:
        return _cannot_tell_which(found)
    if subtasks >= inside:
        return Excluded(
            reason=f"The copies of all {inside} keys were written by different subtasks: the rows are not "
            "distributed by key (F17)."
        )
    reasons = [
        upsert,
        f"{inside} of {found.keys} repeated keys have two live copies by one commit; an equality delete never reaches "
        "rows of its own commit.",
    ]
    rows = _rows(case, {pair.first for pair in found.pairs if pair.first == pair.second})
    merged = ((row, s) for row in rows for s in row.skipped if s.reason in _BROUGHT_LATER)
    if first := next(merged, None):
        row, skipped = first
        reasons.append(
            f"{short(row.snapshot_id)} brought checkpoints {skipped.first} to {row.checkpoint_id} in one commit: the "
            "V2 sink does so after a failed checkpoint, and before Iceberg 1.7 the V1 sink did."
        )
    return _matches(case, found, f"{inside} keys of the upsert table have two rows by one commit.", reasons, rows)


def across_writers(case: Case) -> Examined:
    """Matches on keys whose copies lie in different partitions or come from different subtasks, of an upsert table."""
    if missing := lacking(case, *_NEEDS):
        return CannotTell(missing=missing)
    found, upsert = case.duplicates, why_upsert(case)
    assert found is not None
    if not found.keys:
        return Excluded(reason=f"No key lives twice among the {found.rows_checked} rows that were checked.")
    if not found.across_partitions and not found.across_subtasks:
        if found.hidden and upsert is not None:
            return _cannot_tell_which(found)
        return Excluded(
            reason=f"The copies of all {found.keys} repeated keys lie in one partition and come from one subtask each."
        )
    if upsert is None:
        return Excluded(
            reason="The job only appends, so nothing was to remove the older copy, wherever it lies: look at what "
            "wrote the rows twice."
        )
    reasons = [upsert]
    fields = ", ".join(case.observation.table.partitioning)
    spec = f"is partitioned by {fields}" if fields else "has no partition fields now"
    if found.across_partitions:
        reasons.append(
            f"The copies of {found.across_partitions} keys lie in different partitions (the table {spec}, its key is "
            f"{', '.join(case.contract.key)}): a delete stays within its partition."
        )
    if found.across_subtasks:
        reasons.append(
            f"The copies of {found.across_subtasks} keys were written by different subtasks, as their file names say."
        )
    reasons.append("It goes on until the job distributes rows by key, with the partition fields within the key.")
    headline = f"{found.keys} keys of the upsert table have rows by different writers, which do not replace each other."
    return _matches(case, found, headline, reasons, _rows(case, {pair.second for pair in found.pairs}))


MODES = ((_IN_ONE_COMMIT, in_one_commit), (_ACROSS_WRITERS, across_writers))


def _cannot_tell_which(found: DuplicatesFinding) -> CannotTell:
    """One commit or several, one subtask or several: the copies stand in a file of the compaction."""
    keys = counted(found.hidden, "key")
    return CannotTell(missing=(f"who wrote the copies of {keys} (a compaction has rewritten them and hides it)",))


def _rows(case: Case, commits: Set[SnapshotId]) -> list[LedgerRow]:
    """The ledger's rows of these commits on main, oldest first."""
    return [row for row in (case.ledger.main if case.ledger else ()) if row.snapshot_id in commits]


def _matches(case: Case, found: DuplicatesFinding, headline: str, reasons: list[str], rows: list[LedgerRow]) -> Matches:
    """The last good state lies below the oldest of these commits, or where the window begins if none is there. There
    is none where a compaction hides who wrote some copy: any state before it may hold the copies."""
    below = case.observation.table.by_id[rows[0].snapshot_id].parent_id if rows else case.window.since
    return Matches(
        headline=headline,
        reasons=tuple(reasons),
        rows=tuple(row.snapshot_id for row in rows),
        last_good=None if found.hidden else below,
        remedy=Remedy.DEDUPLICATE_ROWS,
    )
