"""When somebody is asked whether a freeze of a table's maintenance still has to last. Pure: no clock, no timer."""

import re
from datetime import datetime, timedelta

from bot.domain.entries import PromiseReminded
from bot.domain.errors import Refused
from bot.domain.ids import TableName
from bot.domain.incident import Incident
from bot.domain.said_moment import said_moment
from bot.domain.sentences import span

FIRST = timedelta(hours=8)
"""A freeze that has lasted for so long may have been forgotten: nobody recovers a table for a whole shift."""
AGAIN = timedelta(days=1)
"""Asked again so long after the last time."""
LONGEST = timedelta(days=7)
"""An end that is further away is refused: the table would grow unasked."""
_LENGTH = re.compile(r"(\d{1,4})\s*(m|mins?|minutes?|h|hrs?|hours?|d|days?)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def said_end(text: str, now: datetime, table: TableName) -> datetime | None:
    """When a freeze of `table` is expected to end, as it was typed: `until 18:00`, `18:00 UTC`, `2026-11-24 14:10`,
    `6h`, `for 30 min`; None where nothing was, or only the table's name. Raises Refused for what is no time, has
    passed, or is more than a week away."""
    words = text.lower().split()
    if words[:1] == [table.lower()]:
        words = words[1:]
    if words[:1] in (["until"], ["for"]):
        words = words[1:]
    if not words:
        return None
    end = _end(" ".join(words), now)
    if end is None:
        raise Refused(
            "Nothing was frozen.",
            f"Expected an end such as 18:00, 6h or 2026-11-24 14:10 (in UTC); found “{text.strip()}”.",
            "Type /waterline freeze alone, or with one of these.",
        )
    if not now < end <= now + LONGEST:
        found = f"it is {span(end - now)} away" if end > now else "it has passed"
        raise Refused(
            "Nothing was frozen.",
            f"Expected an end within {LONGEST.days} days; {found}.",
            "Give an earlier end, such as /waterline freeze until 18:00 or 6h, or none.",
        )
    return end


def _end(words: str, now: datetime) -> datetime | None:
    """None where these words are neither a length nor a time."""
    length = _LENGTH.fullmatch(words)
    if length is not None:
        return now + timedelta(**{_UNITS[length[2][0]]: int(length[1])})
    try:
        return said_moment(words, now)
    except Refused:
        return None


def asks_to_thaw(incident: Incident) -> tuple[datetime, datetime] | None:
    """(Frozen since, when to ask next); None where nothing is frozen, or the incident's end unfreezes it anyway.

    It is asked by the end that was said; where none was, after a while. The next time counts from when somebody was
    asked indeed: of several that were missed, only one is given.
    """
    since = incident.frozen_at
    if since is None or not incident.is_open:
        return None
    asked = [
        entry.at
        for entry in incident.entries
        if isinstance(entry.body, PromiseReminded) and (entry.body.what, entry.body.due) == ("unfreeze", since)
    ]
    until = incident.frozen_until
    if until is not None and not any(at >= until for at in asked):
        return since, until
    return since, asked[-1] + AGAIN if asked else since + FIRST
