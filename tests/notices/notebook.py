"""A record in memory, for many generated incidents: entries as the journal gives them, without its database."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from bot.domain.entries import Body
from bot.domain.ids import IncidentId
from bot.domain.journal import GENESIS, Entry, Line


class Notebook:
    """One incident."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []

    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        """See the port."""
        return self.append(IncidentId("wl-1"), 0, [body], by=by, at=at)[0]

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
        assert after_seq == len(self._entries)
        made = tuple(
            Entry(incident_id=incident, seq=after_seq + place, at=at, by=by, body=body, prev_hash=GENESIS, hash=GENESIS)
            for place, body in enumerate(bodies, start=1)
        )
        self._entries += made
        return made

    def entries(self, incident: IncidentId, after_seq: int = 0) -> tuple[Entry, ...]:
        """See the port."""
        return tuple(self._entries[after_seq:])

    def lines(self, incident: IncidentId) -> tuple[Line, ...]:
        """See the port; nothing here is proven."""
        return ()

    def ends(self) -> Mapping[IncidentId, int]:
        """See the port."""
        return {IncidentId("wl-1"): len(self._entries)}
