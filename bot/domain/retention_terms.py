"""How long snapshots stay: for their readers as promised, and for the restore points that pair with them."""

from datetime import timedelta
from typing import Literal

from bot.domain.clock_time import clock_time
from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.flink import StoredCheckpoint
from bot.domain.guests import own_points
from bot.domain.ids import short
from bot.domain.looked import NotSeen
from bot.domain.snapshots_kept import MAX_AGE, kept_for, says_itself
from bot.domain.spans import span
from bot.domain.table import TableState


def retention_terms(observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    """Beside the restore points, whatever is promised; for readers where a time is."""
    return (
        _beside_restore_points(observation),
        *([_promised(observation.table, contract.keep_snapshots)] if contract.keep_snapshots is not None else []),
    )


def _finding(of: Literal["state", "table"], term: str, observed: str, holds: bool | None, action: str) -> Finding:
    mend = "Nothing to do." if holds else action
    return Finding(contract=of, term=term, observed=observed, holds=holds, action=mend)


def _beside_restore_points(observation: Observation) -> Finding:
    """A restore point whose snapshot was expired pairs with nothing: the job that starts there repeats or loses rows.

    Judged by time, as expiry does: below the oldest listed commit of main everything that no ref keeps is gone.
    """
    term = "Snapshots are kept as long as the restore points that pair with them."
    action = "Tag the snapshot that a kept restore point pairs with, or remove the restore point with it."
    stored, table = observation.checkpoints, observation.table
    if isinstance(stored, NotSeen):
        return _finding("state", term, f"Could not look: {stored.reason}", None, stored.remedy)
    points = [
        p for p in own_points(observation) if p.problem is None and p.checkpoint_id is not None and p.job_id is not None
    ]
    oldest = table.chain[-1] if table.chain else None
    if not points or oldest is None:
        found = "Storage has no readable restore point." if oldest is not None else "The table has no snapshot."
        return _finding("state", term, found, None, "Look again when there is one.")
    listed = {(s.job_id, s.checkpoint_id) for s in table.snapshots}
    is_expired = oldest.has_commit_below
    alone = [p for p in points if is_expired and p.written_at < oldest.committed_at and _key(p) not in listed]
    back = clock_time(oldest.committed_at, table.read_at)
    if alone:
        first = min(alone, key=lambda each: each.written_at)
        observed = (
            f"{len(alone)} of {len(points)} restore points {'is' if len(alone) == 1 else 'are'} older than the oldest "
            f"listed commit ({back}); the first, at {first.path}, was written "
            f"{clock_time(first.written_at, table.read_at)}."
        )
        return _finding("state", term, observed, False, action)
    return _finding("state", term, f"None of {len(points)} restore points outlived its snapshot.", True, action)


def _key(point: StoredCheckpoint) -> tuple[object, object]:
    return (point.job_id, point.checkpoint_id)


def _promised(table: TableState, promised: timedelta) -> Finding:
    """By what expiry has left, and by what the table lets it take."""
    term = f"Snapshots stay readable for {span(promised)}."
    allowed = kept_for(table)
    action = f"Set {MAX_AGE} to at least the promised time, and let maintenance obey it."
    oldest = table.chain[-1] if table.chain else None
    if oldest is not None and oldest.has_commit_below and table.read_at - oldest.committed_at < promised:
        age = span(table.read_at - oldest.committed_at)
        gone = f"The oldest listed commit, {short(oldest.snapshot_id)}, is {age} old, and those before it were expired."
        return _finding("table", term, gone, False, action)
    by = "as the table sets" if says_itself(table) else "Iceberg's own default"
    observed = f"Expiry may take what is older than {span(allowed)} ({by})."
    return _finding("table", term, observed, allowed >= promised, action)
