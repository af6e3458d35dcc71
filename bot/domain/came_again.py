"""Whether damage is new though it looks like what was told before: the same fault of the same run. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import takewhile

from bot.domain.entries import Diagnosed, WaterlineMoved
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.open_findings import taken_over_by
from bot.domain.table import TableState
from bot.domain.watch import Memory, Sighted, Sign


def goes_on(sign: Sign, memory: Memory, incidents: Sequence[Incident], table: TableState | None) -> bool:
    """Whether this very thing was told, or an incident has named and left it, and it has not come again since, though
    what it concerns may have changed. `incidents`: those of this table. `table`: None where it was never read."""
    known = memory.known(sign)
    if table is None:
        return known is not None
    if any(_was_left(sign, incident, table) for incident in incidents):
        return True
    if known is not None:
        return not came_again(sign, known, taken_over_by(known, incidents), table)
    alike = (each for each in memory.lasting if each.sign.code == sign.code)
    return any(is_all_told(sign, each, taken_over_by(each, incidents), table) for each in alike)


def came_again(sign: Sign, sighted: Sighted, incident: Incident | None, table: TableState) -> bool:
    """`sighted`: a sighting of the same code. `incident`: what took it over.

    True where that is closed, and the newest commit that belongs to the fault came to main after what was told of it,
    and after the commit that the incident proved (where it proved none: the head at its close); or where main has lost
    that very commit. What an incident left as it was is not told a second time, however the run goes on. Of a mode that
    names no such commit: where the sign rests on one that the incident did not look at.
    """
    if incident is None or incident.closed_at is None:
        return False
    if sign.newest_wrong is None:
        return _rests_on_newer(sign, sighted, _looked_until(incident, incident.closed_at, table), table)
    told = {*_told_by(sighted), *_named_by(incident, sign.code)}
    return _is_newer(sign.newest_wrong, told, incident, incident.closed_at, table)


def is_all_told(sign: Sign, sighted: Sighted, incident: Incident | None, table: TableState) -> bool:
    """Whether a sighting of the same code that concerned something else has told this fault: its newest commit is none
    that came later. A run that ends, or a window that begins elsewhere, changes what a fault concerns."""
    if sign.newest_wrong is None or sighted.sign.newest_wrong is None:
        return False
    if incident is not None and incident.closed_at is not None:
        return not came_again(sign, sighted, incident, table)
    log = _log(table)
    return _place(sign.newest_wrong, log, table) <= _place(sighted.sign.newest_wrong, log, table)


def _was_left(sign: Sign, incident: Incident, table: TableState) -> bool:
    """Whether a diagnosis of this incident named the fault, and it was closed with nothing newer of it."""
    named = _named_by(incident, sign.code)
    if sign.newest_wrong is None or incident.closed_at is None or not named:
        return False
    return not _is_newer(sign.newest_wrong, set(named), incident, incident.closed_at, table)


def _is_newer(
    newest: SnapshotId, told: set[SnapshotId], incident: Incident, closed_at: datetime, table: TableState
) -> bool:
    log, head = _log(table), _proven(incident)
    left = max(_place(each, log, table) for each in (*told, incident.opened.window.until, head))
    if head is None:
        before = [move.snapshot_id for move in table.head_moves if move.at <= closed_at]
        left, head = max(left, len(before) - 1), next((each for each in before[-1:] if each not in told), None)
    is_lost = head is not None and head not in table.chain_ids
    return _place(newest, log, table) > left or (is_lost and newest == head)


def _log(table: TableState) -> Mapping[SnapshotId, int]:
    """Snapshot -> the line of the snapshot log with which it first became the head of main."""
    first: dict[SnapshotId, int] = {}
    for line, move in enumerate(table.head_moves):
        first.setdefault(move.snapshot_id, line)
    return first


def _place(snapshot: SnapshotId | None, log: Mapping[SnapshotId, int], table: TableState) -> int:
    """When it came to main: by its own line of the log, else by that of the commit with which a branch was published.
    -1: before all that the log still tells."""
    if snapshot in log or snapshot not in table.chain_ids:
        return log.get(snapshot, -1) if snapshot is not None else -1
    above = takewhile(lambda commit: commit.snapshot_id != snapshot, table.chain)
    return min((log[commit.snapshot_id] for commit in above if commit.snapshot_id in log), default=-1)


def _told_by(sighted: Sighted) -> tuple[SnapshotId, ...]:
    told = sighted.sign
    return told.rows if told.newest_wrong is None else (told.newest_wrong,)


def _named_by(incident: Incident, code: str) -> tuple[SnapshotId, ...]:
    """The newest commits of this fault, as the incident's own diagnoses named them."""
    diagnoses = (entry.body.diagnosis for entry in incident.entries if isinstance(entry.body, Diagnosed))
    matches = (match for diagnosis in diagnoses for mode, match in diagnosis.matches if mode.code == code)
    return tuple(match.newest_wrong for match in matches if match.newest_wrong is not None)


def _proven(incident: Incident) -> SnapshotId | None:
    moved = (entry.body for entry in reversed(incident.entries) if isinstance(entry.body, WaterlineMoved))
    return next((body.snapshot for body in moved if body.status == "trusted"), None)


def _rests_on_newer(sign: Sign, sighted: Sighted, looked_until: datetime, table: TableState) -> bool:
    resting_on = {*sign.rows, sign.last_good} - {*sighted.sign.rows, sighted.sign.last_good}
    commits = (table.by_id.get(each) for each in resting_on if each is not None)
    return any(commit.committed_at > looked_until for commit in commits if commit is not None)


def _looked_until(incident: Incident, closed_at: datetime, table: TableState) -> datetime:
    """When the newest commit was made that it proved, by the clock of who commits; else when it was closed."""
    proven = _proven(incident)
    commit = table.by_id.get(proven) if proven is not None else None
    return closed_at if commit is None else commit.committed_at
