"""Reminds of what was promised, once across replicas, late rather than never; and hands an incident over."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial

from bot.domain.entries import Body, HandedOver, HandoverTaken, PromiseReminded, PromiseSnoozed
from bot.domain.errors import Refused
from bot.domain.handovers import waiting_handover
from bot.domain.ids import IncidentId, TableName, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.promises import Reminder, next_word_due, owed, reminders
from bot.domain.review import open_items
from bot.domain.setup import TableSetup
from bot.ports import Clock, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.incident_timers import IncidentTimers

PROMISED = "Reminding of what was promised"


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
        return [_body(incident, each, setup) for each in owed(incident, setup, self._clock.now())]

    def snooze(self, incident_id: IncidentId, span: timedelta, *, by: UserId) -> PromiseSnoozed:
        """Remind of the next word later. Raises Refused when none was promised."""
        note = PromiseSnoozed(until=self._clock.now() + span)

        def decide(now: Incident) -> list[Body]:
            if next_word_due(now, self._setups.get(now.opened.table)) is None:
                raise Refused(
                    "There is nothing to be reminded of.",
                    f"Nobody waits for word about {now.id}: none was promised, or the last one was given.",
                    "",
                )
            return [note]

        self._store.write(incident_id, by=by, decide=decide)
        return note

    def hand_over(self, incident_id: IncidentId, to: UserId, note: str, *, by: UserId) -> None:
        """Make `to` the responder and tell them where it stands. Raises Refused if they are already."""

        def decide(now: Incident) -> list[Body]:
            must_be_open(now)
            if now.responder == to:
                raise Refused(f"<@{to}> is the responder of {now.id} already.", "", "Name somebody else.")
            return [HandedOver(to=to, note=note.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def take_over(self, incident_id: IncidentId, *, by: UserId) -> None:
        """`by` has what was handed to them. Nothing where it was handed to nobody, to others, or is answered."""

        def decide(now: Incident) -> list[Body]:
            handed = waiting_handover(now)
            return [HandoverTaken()] if handed is not None and handed.to == by else []

        self._store.write(incident_id, by=by, decide=decide)

    def _next(self, incident: Incident) -> datetime | None:
        following = reminders(incident, self._setups.get(incident.opened.table))
        return following[0].moment if following else None

    def _come(self, incident_id: IncidentId) -> None:
        self._background.submit(incident_id, PROMISED, partial(self.settle, incident_id))


def _body(incident: Incident, reminder: Reminder, setup: TableSetup | None) -> PromiseReminded:
    return PromiseReminded(
        what=reminder.what,
        due=reminder.due,
        moment=reminder.moment,
        people=_people(incident, reminder),
        terms=reminder.terms,
        is_unconfigured=setup is None,
    )


def _people(incident: Incident, reminder: Reminder) -> tuple[UserId, ...]:
    """Who is reminded: the owners of the terms that are due, else the responder, else who opened it. While nobody has
    answered a hand-over: of everything but the first question also who handed it over."""
    owners = (i.owner for i in open_items(incident) if i.due == reminder.due) if reminder.what == "review" else ()
    named = tuple(dict.fromkeys(owner for owner in owners if owner is not None))
    handed = waiting_handover(incident)
    if not named and handed is not None and (reminder.what != "handover" or reminder.moment >= reminder.due):
        return (handed.to, UserId(handed.by))
    return named or (incident.responder or UserId(incident.opened_by),)
