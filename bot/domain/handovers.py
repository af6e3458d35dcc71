"""Whether somebody who was handed an incident has it: their first act says so, whatever it is. Pure."""

from dataclasses import dataclass
from datetime import datetime

from bot.domain.entries import HandedOver, IncidentClosed, ResponderAssigned
from bot.domain.ids import UserId
from bot.domain.incident import Incident
from bot.domain.journal import Entry


@dataclass(frozen=True)
class Handover:
    """One hand-over, and how it ended."""

    seq: int
    """Number of its entry."""
    at: datetime
    by: str
    to: UserId
    ended: Entry | None
    """The first entry after it by `to`, or by which somebody else took over, or the incident ended."""

    @property
    def is_taken(self) -> bool:
        """Whether the one who was named has it."""
        return self.ended is not None and self.ended.by == self.to


def handovers(incident: Incident) -> tuple[Handover, ...]:
    """Every one, oldest first. Whoever hands an incident to themselves has it at once."""
    return tuple(
        Handover(seq=entry.seq, at=entry.at, by=entry.by, to=entry.body.to, ended=_end(incident, entry, entry.body.to))
        for entry in incident.entries
        if isinstance(entry.body, HandedOver)
    )


def waiting_handover(incident: Incident) -> Handover | None:
    """The one that nobody has answered yet; there is one at most."""
    return next((each for each in handovers(incident) if each.ended is None), None)


def _end(incident: Incident, handed: Entry, to: UserId) -> Entry | None:
    if handed.by == to:
        return handed
    return next((each for each in incident.entries if each.seq > handed.seq and _ends(each, to)), None)


def _ends(entry: Entry, to: UserId) -> bool:
    match entry.body:
        case HandedOver() | IncidentClosed():
            return True
        case ResponderAssigned(user=user) if user != to:
            return True
        case _:
            return entry.by == to
