"""F16: one commit of an upsert table brought two rows of a key, and its own equality deletes cannot remove either.

An equality delete applies only to files with a lower sequence number, so rows of the same commit survive it: seen
when results of two checkpoints were put into one commit (the V2 sink after a failed checkpoint, run with Iceberg 1.11;
both sinks before 1.7) and in CDC sinks.
"""

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.upsert import cannot_tell_which, last_good_below, why_upsert
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.ids import SnapshotId, short
from bot.observation.ledger import SkipReason

MODE = Mode(
    code="F16",
    name="upsert_duplicates_in_one_commit",
    title="one commit of an upsert table holds two rows of a key",
    needs=("ledger", "duplicate_rows"),
    false_positives=("A key in the contract that is wider or narrower than the job's equality fields.",),
    neighbours={
        "F2": "There the copies of a key are of two runs. Here they are of one commit.",
        "F17": "There the rows of a key came from different subtasks, or lie in different partitions. Here "
        "one commit holds both, by one subtask.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.DEDUPLICATE_ROWS,),
)

_BROUGHT_LATER = (SkipReason.MERGED, SkipReason.FAILED)
"""Checkpoints whose files the next commit brought along."""


def examine(case: Case) -> Examined:
    """Matches on keys with two copies by one commit, of a table that is written by key."""
    if missing := lacking(case, *MODE.needs):
        return CannotTell(missing=missing)
    assert case.duplicates is not None
    inside, subtasks = case.duplicates.within_commit, case.duplicates.across_subtasks
    if not inside and case.duplicates.hidden and why_upsert(case) is not None:
        return cannot_tell_which(case.duplicates)
    if not inside:
        told = (
            f"All {case.duplicates.keys} repeated keys have"
            if case.duplicates.keys
            else "No key lives twice, so none has"
        )
        return Excluded(reason=f"{told} no two copies by one commit.")
    upsert = why_upsert(case)
    if upsert is None:
        return Excluded(
            reason=f"{inside} keys came twice within one commit, but the job only appends, so no delete was to remove "
            "one: the source gave them twice, or upsert is not enabled where it should be."
        )
    if subtasks >= inside and case.duplicates.hidden:
        return cannot_tell_which(case.duplicates)
    if subtasks >= inside:
        return Excluded(
            reason=f"The copies of all {inside} keys were written by different subtasks: the rows are not "
            "distributed by key (F17)."
        )
    return _matches(case, upsert)


def _matches(case: Case, upsert: str) -> Matches:
    assert case.duplicates is not None
    commits = _commits(case)
    found = case.duplicates
    reasons = [
        upsert,
        f"{found.within_commit} of {found.keys} repeated keys have two live copies by one commit; an equality delete "
        "never reaches rows of its own commit.",
    ]
    merged = [row for row in (case.ledger.main if case.ledger else ()) if _is_merged(row.snapshot_id, case)]
    if merged:
        row = merged[0]
        skipped = next(s for s in row.skipped if s.reason in _BROUGHT_LATER)
        reasons.append(
            f"{short(row.snapshot_id)} brought checkpoints {skipped.first} to {row.checkpoint_id} in one commit: the "
            "V2 sink does so after a failed checkpoint, and before Iceberg 1.7 the V1 sink did."
        )
    first = commits[0] if commits else None
    return Matches(
        headline=f"{found.within_commit} keys of the upsert table have two rows by one commit.",
        reasons=tuple(reasons),
        rows=commits,
        last_good=last_good_below(case, first),
        remedy=Remedy.DEDUPLICATE_ROWS,
    )


def _commits(case: Case) -> tuple[SnapshotId, ...]:
    """The commits on main that hold both copies of some key, oldest first."""
    pairs = case.duplicates.pairs if case.duplicates else ()
    both = {pair.first for pair in pairs if pair.first == pair.second}
    return tuple(row.snapshot_id for row in (case.ledger.main if case.ledger else ()) if row.snapshot_id in both)


def _is_merged(snapshot: SnapshotId, case: Case) -> bool:
    row = next(row for row in (case.ledger.main if case.ledger else ()) if row.snapshot_id == snapshot)
    return snapshot in _commits(case) and any(s.reason in _BROUGHT_LATER for s in row.skipped)
