"""Notices that all is well which were not sent, as the table came in doubt: told to a person as one message. Pure.

Whose try a delivery was.
"""

from bot.domain.entries import Body, NoticeEnded, NoticeQueued, NoticeRetried
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE


def first_given_up(incident: Incident, seq: int, ended: NoticeEnded) -> int:
    """Number of the entry that began the telling to which entry `seq` belongs: what follows joins it until somebody
    sends such a notice (again)."""
    first = seq
    for entry in reversed(incident.entries[: seq - 1]):
        if _is_sent(entry.body, ended):
            break
        if _joins(entry.body, ended):
            first = entry.seq
    return first


def given_up_from(incident: Incident, first: int) -> tuple[NoticeEnded, ...]:
    """Every way that was given up from entry `first` on, until such a notice was sent (again)."""
    began = incident.entries[first - 1].body
    assert isinstance(began, NoticeEnded)
    found: list[NoticeEnded] = []
    for entry in incident.entries[first - 1 :]:
        if _is_sent(entry.body, began):
            break
        if isinstance(entry.body, NoticeEnded) and _joins(entry.body, began):
            found.append(entry.body)
    return tuple(found)


def _joins(body: Body, ended: NoticeEnded) -> bool:
    """The same kind of notice, and the same command that sends it."""
    if not isinstance(body, NoticeEnded) or not body.doubt:
        return False
    return (_kind(body.key), body.command) == (_kind(ended.key), ended.command)


def _is_sent(body: Body, ended: NoticeEnded) -> bool:
    match body:
        case NoticeQueued():
            return body.notice.kind == _kind(ended.key)
        case NoticeRetried():
            return _kind(body.key) == _kind(ended.key)
    return False


def _kind(key: str) -> str:
    return key.split("/", 2)[1]


def sent_by_rule(incident: Incident, seq: int, body: NoticeEnded) -> bool:
    """Whether Waterline tried again by itself: whoever is to call them was told at the first failure."""
    for entry in reversed(incident.entries[: seq - 1]):
        if isinstance(entry.body, NoticeRetried) and (entry.body.key, entry.body.to) == (body.key, body.to):
            return entry.by == WATERLINE
    return False
