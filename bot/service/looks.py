"""Looks that are made at moments after something that is on record: late rather than lost, and by one replica."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.ports import Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore

LOOKS = tuple(timedelta(minutes=each) for each in (1, 5, 15, 60, 6 * 60, 24 * 60))
"""After what is looked after it is looked again then: lineage comes when a run has ended, or later."""
FOLLOWED_EVERY_S = 20.0
"""How soon it is seen what another process has put on record. A look is a minute after it or later."""
Due = Callable[[Incident, bool], datetime | None]
"""(incident, whether the first look is made at once) -> when to look next; None: not any more."""


class Looks:
    """One timer an incident, set anew after each of its entries, after each look, and at the start.

    Where this process did neither (another replica took the entry or made the look, and died; the record was away)
    the next moment is found by `follow`.
    """

    def __init__(
        self, name: str, work: str, store: IncidentStore, background: Background, timers: Timers, due: Due,
        look: Callable[[IncidentId], None],
    ) -> None:  # fmt: skip
        """`name`: of the timers. `work`: what is done, as it is told where it could not be."""
        self._name = name
        self._work = work
        self._store = store
        self._background = background
        self._timers = timers
        self._due = due
        self._do = look
        self._next: dict[IncidentId, datetime] = {}
        """The moments of the timers that are set here and have not come."""

    def start(self) -> None:
        """Set what is to come, and follow the journal from now on."""
        self._store.on_change(self._set)
        for incident in self._store.all():
            self._set(incident.id)
        self._timers.every(self._name, FOLLOWED_EVERY_S, self.follow)

    def follow(self) -> None:
        """Set a timer where there is none or only a later one. A look that another replica may be at is not made
        twice at once: what is set is the next moment."""
        for incident in self._store.all():
            due, known = self._due(incident, False), self._next.get(incident.id)
            if due is not None and (known is None or due < known):
                self._at(incident.id, due)

    def _set(self, incident_id: IncidentId, at_once: bool = True) -> None:
        due = self._due(self._store.get(incident_id), at_once)
        if due is not None:
            self._at(incident_id, due)
        else:
            self._next.pop(incident_id, None)
            self._timers.cancel(self._key(incident_id))

    def _at(self, incident_id: IncidentId, due: datetime) -> None:
        self._next[incident_id] = due
        self._timers.at(self._key(incident_id), due, partial(self._come, incident_id))

    def _come(self, incident_id: IncidentId) -> None:
        self._next.pop(incident_id, None)
        self._background.submit(incident_id, self._work, partial(self.look, incident_id))

    def look(self, incident_id: IncidentId) -> None:
        """Look now, and set the next moment."""
        try:
            self._do(incident_id)
        finally:
            self._set(incident_id, at_once=False)

    def _key(self, incident_id: IncidentId) -> str:
        return f"{self._name}/{incident_id}"
