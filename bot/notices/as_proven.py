"""The table as it stood at the last proof of an incident: what became of it since is not of this incident. Pure."""

from collections.abc import Sequence
from datetime import datetime

from bot.domain.entries import WaterlineMoved
from bot.domain.ids import SnapshotId
from bot.domain.incident import Incident
from bot.domain.table import HeadMove, TableState


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
