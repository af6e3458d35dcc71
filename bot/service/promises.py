"""Reminds of what was promised, once across replicas, late rather than never.

Wakes up when something of an incident falls due. Rebuilt from the journal.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial

from bot.domain.entries import Body, PromiseReminded
from bot.domain.ids import IncidentId, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.promises import Reminder, owed, reminders
from bot.domain.review import open_items
from bot.domain.setup import TableSetup
from bot.ports import Clock, Timers
from bot.service.background import Background
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


PROMISED = "Sending reminders"


class Promises:
    """Every reminder is given once, by its timer or, where that did not tell it, by `Duties`."""

    def __init__(
        self, store: IncidentStore, setups: Mapping[TableName, TableSetup], background: Background, clock: Clock
    ) -> None:
        self._store = store
        self._setups = setups
        self._background = background
        self._clock = clock

    def start(self, timers: Timers) -> None:
        """Set what is to come, and follow the journal from now on."""
        IncidentTimers("promise", self._store, timers, self._next, self._come).start()

    def settle(self, incident_id: IncidentId) -> None:
        """Remind of what is owed now. Doing it twice reminds once: the journal takes each reminder once."""
        self._store.write(incident_id, by=WATERLINE, decide=self.due)

    def due(self, incident: Incident) -> list[Body]:
        """The reminders that are owed now, also of an incident that has ended: its review has days to come."""
        setup = self._setups.get(incident.opened.table)
        return [_body(incident, each) for each in owed(incident, setup, self._clock.now())]

    def _next(self, incident: Incident) -> datetime | None:
        following = reminders(incident, self._setups.get(incident.opened.table))
        return following[0].moment if following else None

    def _come(self, incident_id: IncidentId) -> None:
        self._background.submit(incident_id, PROMISED, partial(self.settle, incident_id))


def _body(incident: Incident, reminder: Reminder) -> PromiseReminded:
    return PromiseReminded(
        what=reminder.what,
        due=reminder.due,
        moment=reminder.moment,
        people=_people(incident, reminder),
        terms=reminder.terms,
    )


def _people(incident: Incident, reminder: Reminder) -> tuple[UserId, ...]:
    """Who is reminded: the owners of the terms that are due, else the responder, else who opened it."""
    owners = (i.owner for i in open_items(incident) if i.due == reminder.due) if reminder.what == "review" else ()
    named = tuple(dict.fromkeys(owner for owner in owners if owner is not None))
    return named or (incident.responder or UserId(incident.opened_by),)
