"""Where the rows of wrong commits lie: in event time, by what the ledger saw of their files, and in partitions. Pure.

What nobody looked at is told as such: a range is never said to be whole when it is not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from bot.domain.contract import TableContract
from bot.domain.findings import LedgerFinding
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.ledger import LedgerRow
from bot.domain.table import Snapshot, TableState

_BY_TIME = re.compile(r"(year|month|day|hour)\((.+)\)")
_FORMATS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
"""As engines show such partitions."""


class Events(NamedTuple):
    """Event times, both bounds inclusive; None where nothing is known."""

    since: datetime | None
    until: datetime | None
    untold: int
    """Commits of which it is not, or not wholly, known."""


class Partitions(NamedTuple):
    """In words."""

    known: tuple[str, ...]
    untold: tuple[str, ...]
    """Fields of the partitioning of which it is not known."""


def ledger_rows(incident: Incident, commits: Iterable[Snapshot]) -> dict[SnapshotId, LedgerRow]:
    """What any ledger of this incident says of these commits; of several the newest. A commit never changes."""
    wanted = {commit.snapshot_id for commit in commits}
    findings = (run.evidence.finding for run in incident.runs.values() if run.evidence is not None)
    ledgers = (finding.ledger for finding in findings if isinstance(finding, LedgerFinding))
    return {row.snapshot_id: row for ledger in ledgers for row in ledger.rows if row.snapshot_id in wanted}


def events_of(commits: Sequence[Snapshot], rows: Mapping[SnapshotId, LedgerRow]) -> Events:
    """Of the rows that these commits brought. Compactions bring none."""
    since: list[datetime] = []
    until: list[datetime] = []
    untold = 0
    for commit in commits:
        row = rows.get(commit.snapshot_id)
        if commit.operation == "replace" or _is_empty(commit, row):
            continue
        is_told = row is not None and row.event_from is not None and row.event_until is not None
        if is_told and row is not None and row.event_from is not None and row.event_until is not None:
            since.append(row.event_from)
            until.append(row.event_until)
        untold += not is_told or _takes_away(commit, row)
    return Events(min(since, default=None), max(until, default=None), untold)


def partitions_of(table: TableState, rows: Iterable[LedgerRow], contract: TableContract, events: Events) -> Partitions:
    """By time of the event they follow from the event times; by anything else nobody has looked."""
    specs = {spec for row in rows for spec in row.spec_ids}
    fields = [table.specs.get(spec, ()) for spec in sorted(specs)] or [table.partitioning]
    known: list[str] = []
    untold: list[str] = []
    for field in dict.fromkeys(field for spec in fields for field in spec):
        told = _by_time(field, contract, events)
        (untold if told is None else known).append(told or field)
    return Partitions(tuple(known), tuple(untold))


def _by_time(field: str, contract: TableContract, events: Events) -> str | None:
    found = _BY_TIME.fullmatch(field)
    if found is None or events.since is None or events.until is None or events.untold:
        return None
    if contract.event_time is None or found[2].casefold() != contract.event_time.casefold():
        return None
    first, last = (f"{each:{_FORMATS[found[1]]}}" for each in (events.since, events.until))
    return f"{field} {first}" if first == last else f"{field} {first} to {last}"


def _is_empty(commit: Snapshot, row: LedgerRow | None) -> bool:
    """Whether it neither brought rows nor took any away; where neither ledger nor summary tells, it may have."""
    if row is not None:
        return not (row.added_rows or row.removed_rows or row.added_delete_files)
    told = ("added-records", "deleted-records", "added-delete-files")
    if not any(key in commit.summary for key in told):
        return commit.job_id is not None and "added-data-files" not in commit.summary
    return not any(commit.counted(key) for key in told)


def _takes_away(commit: Snapshot, row: LedgerRow | None) -> bool:
    """Whether it replaced or deleted rows: nobody looked at the event times of those."""
    if row is not None and (row.removed_rows or row.added_delete_files):
        return True
    return bool(commit.counted("deleted-records") or commit.counted("added-delete-files"))
