"""Where the rows of wrong commits lie in event time, by what the ledger saw of their files. Pure.

What nobody looked at is told as such: a range is never said to be whole when it is not.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bot.domain.findings import LedgerFinding
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.ledger import LedgerRow
from bot.domain.table import Snapshot


class Events(NamedTuple):
    """Event times, both bounds inclusive; None where nothing is known."""

    since: datetime | None
    until: datetime | None
    untold: int
    """Commits of which it is not, or not wholly, known."""


def ledger_rows(
    incident: Incident, commits: Iterable[Snapshot], newer: Iterable[LedgerRow] = ()
) -> dict[SnapshotId, LedgerRow]:
    """What any ledger of this incident says of these commits; of several the newest. A commit never changes. `newer`:
    rows of commits that came after the newest one."""
    wanted = {commit.snapshot_id for commit in commits}
    findings = (run.evidence.finding for run in incident.runs.values() if run.evidence is not None)
    ledgers = (finding.ledger for finding in findings if isinstance(finding, LedgerFinding))
    rows = (*(row for ledger in ledgers for row in ledger.rows), *newer)
    return {row.snapshot_id: row for row in rows if row.snapshot_id in wanted}


def events_of(commits: Sequence[Snapshot], rows: Mapping[SnapshotId, LedgerRow]) -> Events:
    """Of the rows that these commits brought. Compactions bring none."""
    since: list[datetime] = []
    until: list[datetime] = []
    untold = 0
    for commit in commits:
        row = rows.get(commit.snapshot_id)
        if not changes_rows(commit, row):
            continue
        is_told = row is not None and row.event_from is not None and row.event_until is not None
        if is_told and row is not None and row.event_from is not None and row.event_until is not None:
            since.append(row.event_from)
            until.append(row.event_until)
        untold += not is_told or _takes_away(commit, row)
    return Events(min(since, default=None), max(until, default=None), untold)


def changes_rows(commit: Snapshot, row: LedgerRow | None) -> bool:
    """Whether it brought rows or took any away, which no compaction does; where neither ledger nor summary tells, it
    may have."""
    if commit.operation == "replace":
        return False
    if row is not None:
        return bool(row.added_rows or row.removed_rows or row.added_delete_files)
    told = ("added-records", "deleted-records", "added-delete-files")
    if not any(key in commit.summary for key in told):
        return commit.job_id is None or "added-data-files" in commit.summary
    return any(commit.counted(key) for key in told)


def _takes_away(commit: Snapshot, row: LedgerRow | None) -> bool:
    """Whether it replaced or deleted rows: nobody looked at the event times of those."""
    if row is not None and (row.removed_rows or row.added_delete_files):
        return True
    return bool(commit.counted("deleted-records") or commit.counted("added-delete-files"))
