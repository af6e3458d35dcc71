"""F17: rows of one key went to different subtasks or partitions, where the deletes of one do not reach the other.

An equality delete applies to its own partition; and what two subtasks write for one checkpoint gets one sequence
number. So an upsert table needs its rows distributed by key, and its partition fields within the key.
"""

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.upsert import cannot_tell_which, last_good_below, why_upsert
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import DuplicatesFinding
from bot.observation.ids import SnapshotId

MODE = Mode(
    code="F17",
    name="upsert_duplicates_across_writers",
    title="rows of one key were written by different subtasks or into different partitions",
    needs=("ledger", "duplicate_rows"),
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


def examine(case: Case) -> Examined:
    """Matches on keys whose copies lie in different partitions or come from different subtasks, of an upsert table."""
    if missing := lacking(case, *MODE.needs):
        return CannotTell(missing=missing)
    found = case.duplicates
    assert found is not None
    if not found.keys:
        return Excluded(reason=f"No key lives twice among the {found.rows_checked} rows that were checked.")
    if not found.across_partitions and not found.across_subtasks and found.hidden and why_upsert(case) is not None:
        return cannot_tell_which(found)
    if not found.across_partitions and not found.across_subtasks:
        return Excluded(
            reason=f"The copies of all {found.keys} repeated keys lie in one partition and come from one subtask each."
        )
    upsert = why_upsert(case)
    if upsert is None:
        return Excluded(
            reason="The job only appends, so nothing was to remove the older copy, wherever it lies: look at what "
            "wrote the rows twice."
        )
    return _matches(case, found, upsert)


def _matches(case: Case, found: DuplicatesFinding, upsert: str) -> Matches:
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
    rows = _commits(case, found)
    first = rows[0] if rows else None
    return Matches(
        headline=f"{found.keys} keys of the upsert table have rows by different writers, which do not replace each "
        "other.",
        reasons=tuple(reasons),
        rows=rows,
        last_good=last_good_below(case, first),
        remedy=Remedy.DEDUPLICATE_ROWS,
    )


def _commits(case: Case, found: DuplicatesFinding) -> tuple[SnapshotId, ...]:
    """The ledger's rows that brought the newer copies, oldest first."""
    newer = {pair.second for pair in found.pairs}
    return tuple(row.snapshot_id for row in (case.ledger.main if case.ledger else ()) if row.snapshot_id in newer)
