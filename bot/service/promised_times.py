"""What previewed notices promise by the clock, held against the moment at which they are to be sent. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.domain.clock_time import clock_time
from bot.domain.errors import Refused
from bot.domain.held_times import promises_until
from bot.domain.incident import Incident
from bot.domain.notice import Notice, NoticeData
from bot.domain.notice_fold import next_word_by


def refuse_overdue(incident: Incident, name: str, notices: Sequence[Notice], now: datetime) -> None:
    """Raises Refused where the next word that they promise is due, or nearly, or another time that they name has come:
    a form may have been left open for long. What was sent before is left alone, and so is what was made just now."""
    shown_at = incident.previewed_at.get(name)
    new = [notice for notice in notices if notice.key(incident.id) not in incident.notices]
    word_by = next_word_by(new)
    if word_by is not None and (word_by <= now or (shown_at and promises_until(shown_at, word_by) <= now)):
        is_over = "over" if word_by <= now else "nearly due"
        raise _too_old(f"It promises the next word by {clock_time(word_by, now)}, which is {is_over}.")
    past = next((said for notice in new if notice.data is not None for said in _past(notice.data, now)), None)
    if past is not None:
        raise _too_old(past)


def _past(data: NoticeData, now: datetime) -> Iterator[str]:
    """What it says of times that have come, a sentence each."""
    if data.over_by is not None and data.over_by <= now:
        yield f"It says that the work is over by {clock_time(data.over_by, now)}, which has passed."
    approve_by = data.backfill.approve_by if data.backfill is not None else None
    if approve_by is not None and approve_by <= now:
        yield f"It says that approval is possible until {clock_time(approve_by, now)}, which has passed."


def _too_old(found: str) -> Refused:
    return Refused("This preview is too old to be sent.", found, "Preview it again. Nothing was sent.")
