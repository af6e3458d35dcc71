"""Which commits are not, or no longer, to be relied on, and what they brought. Pure.

The table as it stood at the last proof of an incident: what became of it since is not of this incident. Pure.

In which partitions the rows of wrong commits lie: as their manifests name them, or by event time. Pure.

Where one commit was not looked at, a field is told as not known: half of the partitions would leave the others wrong.

Where the rows of wrong commits lie in event time, by what the ledger saw of their files. Pure.

What nobody looked at is told as such: a range is never said to be whole when it is not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bot.incident.doubt import mended_by_others
from bot.incident.effects import PublishBranch
from bot.incident.entries import WaterlineMoved
from bot.incident.incident import Incident
from bot.incident.lowering import lower_of
from bot.notices.extent import ranges_of
from bot.notices.facts import Affected
from bot.observation.contract import HIDDEN, TableContract
from bot.observation.findings import LedgerFinding
from bot.observation.ids import SnapshotId
from bot.observation.ledger import LedgerRow
from bot.observation.table import (
    MOST_PARTITIONS,
    HeadMove,
    Snapshot,
    TableState,
    TouchedPartitions,
    Window,
    transform_and_column,
)


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


_FORMATS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
"""As engines show such partitions."""
_NUMBER = re.compile(r"-?\d+")


class Partitions(NamedTuple):
    known: tuple[str, ...]
    """As `day(event_time) 2026-11-02 to 2026-11-03`, `region EU, NA`; values of hidden columns are •••."""
    untold: tuple[str, ...]
    """Fields of the partitioning of which it is not known."""


def partitions_of(
    table: TableState,
    commits: Iterable[Snapshot],
    rows: Mapping[SnapshotId, LedgerRow],
    contract: TableContract,
    events: Events,
) -> Partitions:
    """Of everything that these commits added or took away. `rows`: what a ledger saw of them."""
    changed = [rows.get(commit.snapshot_id) for commit in commits if changes_rows(commit, rows.get(commit.snapshot_id))]
    specs = {spec for row in changed if row is not None for spec in row.spec_ids}
    by_spec = [table.specs.get(spec, ()) for spec in sorted(specs)] or [table.partitioning]
    known: list[str] = []
    untold: list[str] = []
    for field in dict.fromkeys(field for spec in by_spec for field in spec):
        if transform_and_column(field)[0] == "void":
            continue
        told = _told(field, table, changed, contract) or _by_time(field, contract, events)
        (untold if told is None else known).append(told or field)
    return Partitions(tuple(known), tuple(untold))


def _told(field: str, table: TableState, changed: Sequence[LedgerRow | None], contract: TableContract) -> str | None:
    """None where not every commit's partitions were looked at."""
    if any(contract.hides(name) for name in _names(field, table)):
        return f"{field} {HIDDEN}"
    touched = [_by(field, row) for row in changed]
    if not touched or None in touched:
        return None
    found = [each for each in touched if each is not None]
    values = {value for each in found for value in each.values}
    more = max(each.more for each in found)
    if more and transform_and_column(field)[0] in _FORMATS:
        return None  # a list that ends somewhere says less than the range of the event times
    return f"{field} {_listed(transform_and_column(field)[0], values, more)}"


def _names(field: str, table: TableState) -> set[str]:
    """Of the column, and of the field in every spec that has it."""
    named = {each.name for fields in table.spec_fields.values() for each in fields if each.words == field}
    return {transform_and_column(field)[1], *named}


def _by(field: str, row: LedgerRow | None) -> TouchedPartitions | None:
    return next((each for each in row.partitions if each.field == field), None) if row is not None else None


def _listed(transform: str, values: set[str], more: int) -> str:
    """`2026-11-02 to 2026-11-03, 2026-11-07`; `EU, NA and 3 more`."""
    runs: list[list[str]] = []
    for value in sorted(values, key=_place):
        if runs and transform in _FORMATS and _follows(transform, runs[-1][-1], value):
            runs[-1].append(value)
        else:
            runs.append([value])
    told = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    left = sum(len(run) for run in runs[MOST_PARTITIONS:])
    unlisted = f" and {'at least ' if more else ''}{left + more} more" if left + more else ""
    return ", ".join(told[:MOST_PARTITIONS]) + unlisted


def _place(value: str) -> tuple[bool, int, str]:
    """Numbers by their size, before texts; as times are written, they are in order."""
    is_number = _NUMBER.fullmatch(value) is not None
    return (not is_number, int(value) if is_number else 0, value)


def _follows(transform: str, first: str, then: str) -> bool:
    numbers = [_number(transform, value) for value in (first, then)]
    return None not in numbers and numbers[0] == (numbers[1] or 0) - 1


def _number(transform: str, value: str) -> int | None:
    """Of years, months, days or hours; None for what is no such time."""
    try:
        at = datetime.strptime(value, _FORMATS[transform]).replace(tzinfo=UTC)
    except ValueError:
        return None
    days = at.toordinal()
    return {"year": at.year, "month": at.year * 12 + at.month, "day": days, "hour": days * 24 + at.hour}[transform]


def _by_time(field: str, contract: TableContract, events: Events) -> str | None:
    transform, column = transform_and_column(field)
    if transform not in _FORMATS or events.since is None or events.until is None or events.untold:
        return None
    if contract.event_time is None or column.casefold() != contract.event_time.casefold():
        return None
    first, last = (f"{each:{_FORMATS[transform]}}" for each in (events.since, events.until))
    return f"{field} {first}" if first == last else f"{field} {first} to {last}"


def as_proven(incident: Incident, table: TableState) -> TableState:
    """`table` with main where it was trusted, and nothing rolled back since; as it is while nothing is trusted.

    Told by the table's own log. The clocks of bot and table only choose between several times at which main stood on
    the same snapshot, and where the log or the metadata lists it no longer.
    """
    trusted_at = _trusted_at(incident)
    if trusted_at is None or incident.trusted is None:
        return table
    count = _moves_until(table.head_moves, incident.trusted, trusted_at)
    moves = table.head_moves[:count]
    last = moves[-1].snapshot_id if moves else None
    head = incident.trusted if incident.trusted in table.by_id else last
    return table if (head, count) == (table.head, len(table.head_moves)) else table.as_of(head, moves)


def _trusted_at(incident: Incident) -> datetime | None:
    if incident.waterline is None or incident.waterline.status != "trusted":
        return None
    return next(entry.at for entry in reversed(incident.entries) if isinstance(entry.body, WaterlineMoved))


def _moves_until(moves: Sequence[HeadMove], head: SnapshotId, at: datetime) -> int:
    """How many lines of the log there were: up to the last that put main on `head` by `at`, else the first that did
    later; where none did, those by `at`."""
    later, by_then = 0, 0
    for place in range(len(moves), 0, -1):
        move = moves[place - 1]
        if move.at <= at:
            by_then = by_then or place
            if move.snapshot_id == head:
                return place
        elif move.snapshot_id == head:
            later = place
    return later or by_then


def affected_commits(incident: Incident, table: TableState) -> tuple[Snapshot, ...]:
    """Commits of this incident whose readers have read what is not, or was not, to be relied on; oldest first.

    While the table is under review that is everything above the waterline, what was rolled back since
    included. Once it is proven, it is what was taken back, and what a repair stands on: where the rows are mended on
    top, the wrong commits stay ancestors of main. What was committed, or taken back, after the proof is not this
    incident's: another one may have taken it back, and then tells its readers itself.
    """
    table = as_proven(incident, table)
    if table.head is None:
        return ()
    commits = Window(since=_since(incident, table), until=table.head).up_to_now(table)
    contained = {s.snapshot_id for s in table.ancestors(incident.trusted)}
    if incident.waterline is None or incident.waterline.status != "trusted":
        return tuple(s for s in commits if s.snapshot_id not in contained)
    mended = _mended_on_top(incident, table) | _mended_by_others(incident, table)
    return tuple(
        s
        for s in commits
        if s.snapshot_id in mended or (s.snapshot_id not in contained and s.snapshot_id not in table.chain_ids)
    )


def _since(incident: Incident, table: TableState) -> SnapshotId | None:
    """Where the window begins, or what is believed good if that lies below: what was found may reach further down than
    what was looked at first."""
    since, good = incident.window.since, incident.believed_good
    if since is None or good is None or since in {s.snapshot_id for s in table.ancestors(good)}:
        return since
    return lower_of(table, since, good)


def _mended_on_top(incident: Incident, table: TableState) -> frozenset[SnapshotId]:
    """What main held, above what is believed good, until a repair was published on top of it.

    A branch's head gets on main only by being published, and leaves it by an undo: main itself tells which repairs
    count, however their proposals have ended. An earlier repair below a later one counts too: it was not enough.
    """
    published = [
        effect
        for view in incident.proposals.values()
        for effect in view.proposal.effects
        if isinstance(effect, PublishBranch) and effect.head != effect.base and effect.head in table.chain_ids
    ]
    if not published:
        return frozenset()
    held = {s.snapshot_id for effect in published for s in table.ancestors(effect.base)}
    return frozenset(held - {s.snapshot_id for s in table.ancestors(incident.believed_good)})


def _mended_by_others(incident: Incident, table: TableState) -> frozenset[SnapshotId]:
    """What main held while evidence counted wrong rows, until it counted none.

    Between the last look that counted and the first that did not, nobody knows since when it is right: those are
    told, too.
    """
    held: set[SnapshotId] = set()
    for each in mended_by_others(incident):
        held |= {s.snapshot_id for s in table.ancestors(each.wrong.head)}
        held |= {s.snapshot_id for s in table.ancestors(each.right.head)} - {each.right.head}
    return frozenset(held - {s.snapshot_id for s in table.ancestors(incident.believed_good)})


def affected_of(
    incident: Incident,
    commits: tuple[Snapshot, ...],
    table: TableState,
    contract: TableContract,
    newer: Iterable[LedgerRow] = (),
) -> Affected | None:
    """What is told of these commits; None without any. `newer` as for `ledger_rows`."""
    if not commits:
        return None
    rows = ledger_rows(incident, commits, newer)
    events = events_of(commits, rows)
    partitions = partitions_of(table, commits, rows, contract, events)
    return Affected(
        snapshots=tuple(s.snapshot_id for s in commits),
        ranges=ranges_of(commits),
        first_at=min(s.committed_at for s in commits),
        last_at=max(s.committed_at for s in commits),
        rows=sum(s.counted("added-records") for s in commits if s.operation != "replace"),
        event_from=events.since,
        event_until=events.until,
        events_untold=events.untold,
        partitions=partitions.known,
        partitions_untold=partitions.untold,
        taken_back=not any(s.snapshot_id in table.chain_ids for s in commits),
    )
