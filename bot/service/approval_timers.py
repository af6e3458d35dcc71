"""Wakes up when a proposal falls due: a reminder, the end of its hold, its expiry. Rebuilt from the journal."""

from collections.abc import Callable
from functools import partial

from bot.domain.approval_times import next_due_at
from bot.domain.ids import IncidentId
from bot.ports import Timers
from bot.service.incident_store import IncidentStore


class ApprovalTimers:
    """One timer an incident, set anew after each of its entries; late rather than lost.

    Several replicas may wake for the same proposal: the journal takes what is due once.
    """

    def __init__(self, store: IncidentStore, timers: Timers, when_due: Callable[[IncidentId], None]) -> None:
        self._store = store
        self._timers = timers
        self._when_due = when_due

    def start(self) -> None:
        """Set what the journal says is to come, and follow it from now on."""
        self._store.on_change(self._set)
        for incident in self._store.all():
            self._set(incident.id)

    def _set(self, incident_id: IncidentId) -> None:
        incident = self._store.get(incident_id)
        dues = [due for view in incident.proposals.values() if (due := next_due_at(view)) is not None]
        key = f"approval/{incident_id}"
        if incident.is_open and dues:
            self._timers.at(key, min(dues), partial(self._when_due, incident_id))
        else:
            self._timers.cancel(key)
