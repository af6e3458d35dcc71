"""What is promised by an open incident, and when somebody is to be reminded of it: the next update, a freeze of
maintenance, a job that stands still. Pure: no clock, no timer.

A promise stands though its table leaves the configuration: without a setup the times are those of one that says none.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from bot.incident.delivery import NoticeView
from bot.incident.entries import Body, PromiseReminded
from bot.incident.incident import Incident
from bot.incident.notice import ALL_CLEAR, BESIDE, PLANNED, WARNS, Notice
from bot.incident.review import open_items
from bot.incident.setup import NEXT_UPDATE_MINUTES, TableSetup
from bot.incident.staged_repairs import AGAIN, standing_job
from bot.incident.waterline import last_taken_back
from bot.observation.ids import UserId

FROZEN_LONG = timedelta(hours=8)
"""A freeze that has lasted for so long may have been forgotten: nobody recovers a table for a whole shift."""


ASKED_AGAIN = timedelta(days=1)
"""So long after the last time it is asked again about a freeze, and about planned work."""


LEAD = timedelta(minutes=5)
"""The reminder comes this long before the next update is due, or a third of what was promised if that is less."""


PLANNED_LASTS = timedelta(days=1)
"""So long after planned work was announced its end is asked for, where nobody said when it ends."""


Promised = Literal["next-update", "review", "unfreeze", "planned-end", "standing-job"]


@dataclass(frozen=True)
class Reminder:
    """The next one of a promise. `due`: by when it is to be kept, or since when it lasts; `moment`: when to remind."""

    what: Promised
    due: datetime
    moment: datetime
    terms: tuple[str, ...] = ()


def next_word_due(incident: Incident, setup: TableSetup | None) -> datetime | None:
    """When consumers expect the next word, as they read it; None while none was promised, or the last one was given. A
    last word counts while it holds: once the trust is taken back, word is due as if it had been promised then."""
    again = last_taken_back(incident)
    told = [view for view in incident.notices.values() if view.notice.kind not in BESIDE]
    told = [view for view in told if not (view.was_overtaken and is_last_word(view.notice))]
    if not incident.is_open or not told:
        return None
    last, promised = told[-1], _next_word_within(setup)
    if not is_last_word(last.notice):
        written = last.notice.data.next_word_at if last.notice.data is not None else None
        return written or last.queued_at + promised
    return again.at + promised if again is not None and last.seq < again.seq else None


def announced_since(incident: Incident) -> datetime | None:
    """When planned work was announced, the last time, while it stands announced; None: never, or its end was told, or
    something else of the table that ends or takes over what was promised."""
    told = announcement(incident)
    return told.queued_at if told is not None else None


def announcement(incident: Incident) -> NoticeView | None:
    stands: NoticeView | None = None
    for view in incident.notices.values():
        if view.was_overtaken:
            continue
        if view.notice.kind == PLANNED:
            stands = None if view.notice.ends_work else view
        elif view.notice.kind in ALL_CLEAR | WARNS:
            stands = None
    return stands


def planned_end_due(incident: Incident) -> datetime | None:
    """When consumers expect the end of planned work: by the end that was said, or a day after the announcement. None:
    none stands announced, or the incident has ended."""
    told = announcement(incident)
    if told is None or not incident.is_open:
        return None
    over_by = told.notice.data.over_by if told.notice.data is not None else None
    return over_by or told.queued_at + PLANNED_LASTS


def is_last_word(notice: Notice) -> bool:
    """Whether it says that nothing more comes: by its kind, or as its own facts have it."""
    return notice.kind in ALL_CLEAR or (notice.data is not None and notice.data.next_word_at is None)


def reminders(incident: Incident, setup: TableSetup | None) -> tuple[Reminder, ...]:
    """The next one of each promise. Of several that were missed one is given: the next counts from when somebody was
    asked indeed."""
    found = _of_review(incident)
    if (word := next_word_due(incident, setup)) is not None:
        found += _next(incident, "next-update", word, first=word - min(LEAD, _next_word_within(setup) / 3), again=None)
    if incident.is_open and (since := incident.frozen_at) is not None:
        found += _next(incident, "unfreeze", since, first=since + FROZEN_LONG, again=ASKED_AGAIN)
    if (end := planned_end_due(incident)) is not None:
        found += _next(incident, "planned-end", end, first=end, again=ASKED_AGAIN)
    if (standing := standing_job(incident)) is not None:
        found += _next(incident, "standing-job", standing.since, first=standing.asked_from + AGAIN, again=AGAIN)
    return tuple(found)


def _next(
    incident: Incident, what: Promised, due: datetime, *, first: datetime, again: timedelta | None
) -> list[Reminder]:
    asked = [
        entry.at
        for entry in incident.entries
        if isinstance(entry.body, PromiseReminded) and (entry.body.what, entry.body.due) == (what, due)
    ]
    if not asked:
        return [Reminder(what, due, first)]
    return [Reminder(what, due, max(first, asked[-1] + again))] if again is not None else []


def _of_review(incident: Incident) -> list[Reminder]:
    """On the day itself, one reminder for all terms of that day."""
    days: dict[datetime, list[str]] = {}
    for item in open_items(incident):
        if item.due is not None:
            days.setdefault(item.due, []).append(item.finding.term)
    return [
        replace(each, terms=tuple(terms))
        for due, terms in days.items()
        for each in _next(incident, "review", due, first=due, again=None)
    ]


def _next_word_within(setup: TableSetup | None) -> timedelta:
    return timedelta(minutes=NEXT_UPDATE_MINUTES if setup is None else setup.next_update_minutes)


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
