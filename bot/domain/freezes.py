"""When somebody is to be asked whether a table's maintenance still has to stand still. Pure: no clock, no timer."""

from datetime import datetime, timedelta

from bot.domain.entries import PromiseReminded
from bot.domain.incident import Incident

FIRST = timedelta(hours=8)
"""A freeze that has lasted for so long may have been forgotten: nobody recovers a table for a whole shift."""
AGAIN = timedelta(days=1)
"""Asked again so long after the last time."""


def asks_to_thaw(incident: Incident) -> tuple[datetime, datetime] | None:
    """(Frozen since, when to ask next); None where nothing is frozen, or the incident's end thaws it anyway.

    The next time counts from when somebody was asked indeed: of several that were missed, only one is given.
    """
    since = incident.frozen_at
    if since is None or not incident.is_open:
        return None
    asked = [
        entry.at
        for entry in incident.entries
        if isinstance(entry.body, PromiseReminded) and (entry.body.what, entry.body.due) == ("thaw", since)
    ]
    return since, asked[-1] + AGAIN if asked else since + FIRST
