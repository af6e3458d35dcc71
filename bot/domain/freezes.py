"""What a freeze of a table's maintenance leaves to be done, and when somebody is to be asked whether it still has to
last. Pure: no clock, no timer."""

from datetime import datetime, timedelta

from bot.domain.entries import MaintenanceMarked, PromiseReminded
from bot.domain.execution import AT_WORK
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


def owes_resume(incident: Incident) -> bool:
    """Whether compactions may still be paused although this incident has nothing frozen and nothing at work that is
    about to freeze."""
    at_work = any(view.state in AT_WORK for view in incident.proposals.values())
    return incident.compactions != "go-on" and not incident.is_frozen and not at_work


def still_paused(incident: Incident) -> str | None:
    """Why a compaction is still paused that should go on; None where none is, or nobody has tried yet."""
    if incident.compactions != "resuming":
        return None
    marks = (entry.body for entry in reversed(incident.entries) if isinstance(entry.body, MaintenanceMarked))
    return next(mark.sentence for mark in marks if mark.status == "resuming")
