"""Whose try a delivery was."""

from bot.domain.entries import NoticeEnded, NoticeRetried
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE


def sent_by_rule(incident: Incident, seq: int, body: NoticeEnded) -> bool:
    """Whether Waterline tried again by itself: whoever is to call them was told at the first failure."""
    for entry in reversed(incident.entries[: seq - 1]):
        if isinstance(entry.body, NoticeRetried) and (entry.body.key, entry.body.to) == (body.key, body.to):
            return entry.by == WATERLINE
    return False
