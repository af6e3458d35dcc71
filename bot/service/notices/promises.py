"""Who is reminded of what was promised, and when."""

from datetime import datetime

from bot.incident.entries import Body, PromiseReminded
from bot.incident.incident import Incident
from bot.incident.promises import Reminder, reminders
from bot.incident.review import open_items
from bot.incident.setup import TableSetup
from bot.observation.ids import UserId


def due_reminders(incident: Incident, setup: TableSetup | None, now: datetime) -> list[Body]:
    """Those that are owed now, also of an incident that has ended: its review has days to come."""
    return [
        PromiseReminded(
            what=each.what, due=each.due, moment=each.moment, people=_people(incident, each), terms=each.terms
        )
        for each in reminders(incident, setup)
        if each.moment <= now
    ]


def _people(incident: Incident, reminder: Reminder) -> tuple[UserId, ...]:
    """Who is reminded: the owners of the terms that are due, else the responder, else who opened it."""
    owners = (i.owner for i in open_items(incident) if i.due == reminder.due) if reminder.what == "review" else ()
    named = tuple(dict.fromkeys(owner for owner in owners if owner is not None))
    return named or (incident.responder or UserId(incident.opened_by),)
