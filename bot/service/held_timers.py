"""Wakes up when held notices fall due: a reminder, or their end. Rebuilt from the journal."""

from functools import partial

from bot.domain.held_times import next_due_at
from bot.domain.ids import IncidentId
from bot.ports import Timers
from bot.service.background import Background
from bot.service.holding import REMINDING, Holding, still_waiting
from bot.service.incident_store import IncidentStore


class HeldTimers:
    """One timer an incident, set anew after each of its entries that this process writes. Also when the incident has
    ended: some notices are sent after it.

    What no timer tells here (another replica wrote it and died, the record was away when it was due) `Duties` finds
    seconds later, so that it is late rather than lost.
    """

    def __init__(self, store: IncidentStore, holding: Holding, background: Background, timers: Timers) -> None:
        self._store = store
        self._holding = holding
        self._background = background
        self._timers = timers

    def start(self) -> None:
        """Set what the journal says is to come, and follow it from now on."""
        self._store.on_change(self._set)
        for incident in self._store.all():
            self._set(incident.id)

    def _set(self, incident_id: IncidentId) -> None:
        waiting = still_waiting(self._store.get(incident_id))
        dues = [due for view in waiting if (due := next_due_at(view)) is not None]
        key = f"held/{incident_id}"
        if dues:
            self._timers.at(key, min(dues), partial(self._come, incident_id))
        else:
            self._timers.cancel(key)

    def _come(self, incident_id: IncidentId) -> None:
        self._background.submit(incident_id, REMINDING, partial(self._holding.settle, incident_id))
