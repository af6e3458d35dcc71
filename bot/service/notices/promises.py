"""Reminds of what was promised, once across replicas, late rather than never."""

from collections.abc import Mapping

from bot.incident.entries import Body, PromiseReminded
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.promises import Reminder, reminders
from bot.incident.review import open_items
from bot.incident.setup import TableSetup
from bot.observation.ids import IncidentId, TableName, UserId
from bot.ports import Clock
from bot.service.incident_store import IncidentStore

PROMISED = "Sending reminders"


class Promises:
    """Every reminder is given once."""

    def __init__(self, store: IncidentStore, setups: Mapping[TableName, TableSetup], clock: Clock) -> None:
        self._store = store
        self._setups = setups
        self._clock = clock

    def settle(self, incident_id: IncidentId) -> None:
        """Remind of what is owed now. Doing it twice reminds once: the journal takes each reminder once."""
        self._store.write(incident_id, by=WATERLINE, decide=self.due)

    def due(self, incident: Incident) -> list[Body]:
        """The reminders that are owed now, also of an incident that has ended: its review has days to come."""
        now = self._clock.now()
        return [
            PromiseReminded(
                what=each.what, due=each.due, moment=each.moment, people=_people(incident, each), terms=each.terms
            )
            for each in reminders(incident, self._setups.get(incident.opened.table))
            if each.moment <= now
        ]


def _people(incident: Incident, reminder: Reminder) -> tuple[UserId, ...]:
    """Who is reminded: the owners of the terms that are due, else the responder, else who opened it."""
    owners = (i.owner for i in open_items(incident) if i.due == reminder.due) if reminder.what == "review" else ()
    named = tuple(dict.fromkeys(owner for owner in owners if owner is not None))
    return named or (incident.responder or UserId(incident.opened_by),)
