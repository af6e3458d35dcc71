"""What is promised by an open incident, and when somebody is to be reminded of it: the next update, a freeze of
maintenance, a job that stands still. Pure: no clock, no timer.

A promise stands though its table leaves the configuration: without a setup the times are those of one that says none.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from bot.incident.delivery import NoticeView
from bot.incident.doubt import WARNS
from bot.incident.entries import PromiseReminded
from bot.incident.incident import Incident
from bot.incident.notice import PLANNED, Notice
from bot.incident.review import open_items
from bot.incident.setup import NEXT_UPDATE_MINUTES, TableSetup
from bot.incident.staged_repairs import AGAIN, standing_job
from bot.incident.waterline import last_taken_back

FIRST = timedelta(hours=8)
"""A freeze that has lasted for so long may have been forgotten: nobody recovers a table for a whole shift."""


ASKED_AGAIN = timedelta(days=1)
"""Asked again so long after the last time."""


def asks_to_thaw(incident: Incident) -> tuple[datetime, datetime] | None:
    """(Frozen since, when to ask next); None where nothing is frozen, or the incident's end unfreezes it anyway.

    The next time counts from when somebody was asked indeed: of several that were missed, only one is given.
    """
    since = incident.frozen_at
    if since is None or not incident.is_open:
        return None
    asked = [
        entry.at
        for entry in incident.entries
        if isinstance(entry.body, PromiseReminded) and (entry.body.what, entry.body.due) == ("unfreeze", since)
    ]
    return since, asked[-1] + ASKED_AGAIN if asked else since + FIRST


LEAD = timedelta(minutes=5)
"""The reminder comes this long before the next update is due, or a third of what was promised if that is less."""


PLANNED_LASTS = timedelta(days=1)
"""So long after planned work was announced it is asked whether its end is to be told, where nobody said when it ends;
and once more so long after the end that was said."""


LAST_WORDS = frozenset({"recovered", "no_action_needed"})
"""Notices after which nothing more was promised."""


BESIDE = frozenset({"review_published", PLANNED})
"""Notices that say nothing of a next word: what was promised before them still is."""


@dataclass(frozen=True)
class Reminder:
    """One reminder that is owed at a moment."""

    what: Literal["next-update", "review", "unfreeze", "planned-end", "standing-job"]
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
        elif view.notice.kind in LAST_WORDS | WARNS:
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
    return notice.kind in LAST_WORDS or (notice.data is not None and notice.data.next_word_at is None)


def reminders(incident: Incident, setup: TableSetup | None) -> tuple[Reminder, ...]:
    """Every reminder that has not been given, the next first. Of several that were missed only the last is given."""
    every = (
        *_of_next_word(incident, setup),
        *_of_review(incident),
        *_of_freeze(incident),
        *_of_planned_work(incident),
        *_of_standing_job(incident),
    )
    return tuple(sorted((each for each in every if not _given(incident, each)), key=lambda each: each.moment))


def owed(incident: Incident, setup: TableSetup | None, now: datetime) -> tuple[Reminder, ...]:
    """What is to be said now: of each promise the newest reminder whose moment has come."""
    due = {(each.what, each.due): each for each in reminders(incident, setup) if each.moment <= now}
    return tuple(due.values())


def _of_next_word(incident: Incident, setup: TableSetup | None) -> list[Reminder]:
    due = next_word_due(incident, setup)
    if due is None:
        return []
    told_at = due - _next_word_within(setup)
    return [Reminder(what="next-update", due=due, moment=due - min(LEAD, (due - told_at) / 3))]


def _next_word_within(setup: TableSetup | None) -> timedelta:
    return timedelta(minutes=NEXT_UPDATE_MINUTES if setup is None else setup.next_update_minutes)


def _of_review(incident: Incident) -> list[Reminder]:
    """On the day itself, one reminder for all terms of that day."""
    days: dict[datetime, list[str]] = {}
    for item in open_items(incident):
        if item.due is not None:
            days.setdefault(item.due, []).append(item.finding.term)
    return [Reminder(what="review", due=due, moment=due, terms=tuple(terms)) for due, terms in days.items()]


def _of_freeze(incident: Incident) -> list[Reminder]:
    """Whether maintenance still has to stand still; `due` is since when it does."""
    asked = asks_to_thaw(incident)
    return [] if asked is None else [Reminder(what="unfreeze", due=asked[0], moment=asked[1])]


def _of_planned_work(incident: Incident) -> list[Reminder]:
    """When it was said to be over, and a day after; where that was not said, a day after the announcement."""
    told, due = announcement(incident), planned_end_due(incident)
    if told is None or due is None:
        return []
    is_said = told.notice.data is not None and told.notice.data.over_by is not None
    moments = (due, due + PLANNED_LASTS) if is_said else (due,)
    return [Reminder(what="planned-end", due=due, moment=moment) for moment in moments]


def _of_standing_job(incident: Incident) -> list[Reminder]:
    """Once an interval while a job stands still for a repair; `due` is since when. Of several that were missed, only
    one is given: the next time counts from when somebody was asked indeed."""
    standing = standing_job(incident)
    if standing is None:
        return []
    asked = [
        entry.at
        for entry in incident.entries
        if isinstance(entry.body, PromiseReminded)
        and (entry.body.what, entry.body.due) == ("standing-job", standing.since)
    ]
    return [Reminder(what="standing-job", due=standing.since, moment=max([standing.asked_from, *asked]) + AGAIN)]


def _given(incident: Incident, wanted: Reminder) -> bool:
    return any(
        isinstance(entry.body, PromiseReminded)
        and (entry.body.what, entry.body.due) == (wanted.what, wanted.due)
        and entry.body.moment >= wanted.moment
        for entry in incident.entries
    )
