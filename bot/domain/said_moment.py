"""What people write, or choose in a form, for a moment to come."""

from datetime import UTC, date, datetime, time, timedelta

from bot.domain.errors import Refused

FORMS = "14:10 (the next one), or 2026-11-24 14:10; UTC unless it says otherwise"


def said_moment(text: str, now: datetime) -> datetime:
    """The moment that `text` means when it is read at `now`; it may have passed where it comes with its day. Raises
    Refused with the forms that are understood."""
    words = text.strip().upper().removesuffix("UTC").rstrip()
    try:
        if words[:10].count("-") < 2:
            return _next(time.fromisoformat(words), now)
        told = datetime.fromisoformat(words)
    except ValueError:
        raise _not_understood(text.strip()) from None
    if ":" not in words:  # a day alone
        raise _not_understood(text.strip())
    return told if told.tzinfo is not None else told.replace(tzinfo=UTC)


def _next(at: time, now: datetime) -> datetime:
    zone = at.tzinfo or UTC
    today = datetime.combine(now.astimezone(zone).date(), at, zone)
    return today if today > now else today + timedelta(days=1)


def _not_understood(words: str) -> Refused:
    return Refused(f"“{words}” is not a time.", f"Expected {FORMS}.", "Write it like this, or leave it empty.")


def end_of_day(chosen: str) -> datetime:
    """The last second in UTC of a day as a form's calendar names it, `2026-11-24`."""
    return datetime.combine(date.fromisoformat(chosen), time(23, 59, 59, tzinfo=UTC))
