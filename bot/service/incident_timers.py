"""Wakes up when something of an incident falls due. Rebuilt from the journal."""

from collections.abc import Callable
from datetime import datetime
from functools import partial

from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.ports import Timers
from bot.service.incident_store import IncidentStore


class IncidentTimers:
    """One timer an incident, set anew after each of its entries that this process writes, and at the start.

    Several replicas may wake for the same: the journal takes what is due once. What no timer tells here (another
    replica wrote it and died, the record was away when it was due) `Duties` finds seconds later, so that it is late
    rather than lost.
    """

    def __init__(
        self,
        name: str,
        store: IncidentStore,
        timers: Timers,
        due: Callable[[Incident], datetime | None],
        come: Callable[[IncidentId], None],
    ) -> None:
        """`name`: of the timers. `due`: when time alone changes something next; None: nothing is to come."""
        self._name = name
        self._store = store
        self._timers = timers
        self._due = due
        self._come = come

    def start(self) -> None:
        """Set what the journal says is to come, and follow it from now on."""
        self._store.on_change(self._set)
        for incident in self._store.all():
            self._set(incident.id)

    def _set(self, incident_id: IncidentId) -> None:
        due, key = self._due(self._store.get(incident_id)), f"{self._name}/{incident_id}"
        if due is not None:
            self._timers.at(key, due, partial(self._come, incident_id))
        else:
            self._timers.cancel(key)
