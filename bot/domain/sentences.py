"""How texts of others become sentences, and how numbers of things are said in ours.

A time of day as it is said beside other moments: with its day, unless all are of one day.

How long something took or lasts, in words.

People whom texts name, by their Slack user ids, and how texts of ours mention them.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

from bot.domain.ids import UserId


def full_stop(text: str) -> str:
    """With a full stop, if it does not end its sentence by itself."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…", ":", ")")) or not text else f"{text}."


def counted(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,300 rows`; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def clock_time(at: datetime, beside: datetime | None = None, *, seconds: bool = False) -> str:
    """`14:02 UTC`; where it is of another day (in UTC) than `beside`, `2 Nov, 14:02 UTC`, with the year where that is
    another. Without `beside`, as where nobody knows when it is read, always with its day and year."""
    at = at.astimezone(UTC)
    time = f"{at:%H:%M:%S} UTC" if seconds else f"{at:%H:%M} UTC"
    if beside is not None:
        beside = beside.astimezone(UTC)
        if at.date() == beside.date():
            return time
    year = "" if beside is not None and at.year == beside.year else f" {at:%Y}"
    return f"{at.day} {at:%b}{year}, {time}"


def column_times(moments: Iterable[datetime]) -> Callable[[datetime], str]:
    """How moments in UTC are said that stand under one another: `14:02:11`; with the day, `2026-11-02 14:02:11`, where
    not all of them are of one day (in UTC). Give the moment of the look with them: it is read beside them."""
    is_one_day = len({at.astimezone(UTC).date() for at in moments}) < 2
    form = "%H:%M:%S" if is_one_day else "%Y-%m-%d %H:%M:%S"
    return lambda at: at.astimezone(UTC).strftime(form)


def span(took: timedelta) -> str:
    """The two largest units that count: `2 d 3 h`, `4 min 10 s`, `12 s`; below a second `0.5 s`."""
    if timedelta(0) < took < timedelta(seconds=1):
        return f"{took.total_seconds():.2g} s"
    seconds = round(took.total_seconds())
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


PERSON = r"[UW][A-Z0-9]{2,}"
"""A user id, as Slack makes them."""
MENTION = re.compile(r"<([@#])([A-Z0-9]{2,})>")
"""A person or a channel in a text of ours: `@` or `#`, and the id."""
_BARE = re.compile(r"\b[UW][A-Z0-9]{7,}\b")
"""A user id without a mark; a short one might be a word."""
_TYPED = re.compile(rf"<@({PERSON})(?:\|[^<>]*)?>")
"""As Slack hands on what people type: with or without the name."""


def users_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The user ids that these texts hold, each once, in order."""
    return tuple(dict.fromkeys(found for text in texts for found in _BARE.findall(text)))


def mentioned(text: str) -> UserId | None:
    """Whom a text mentions that is nothing but a mention, `<@U0ANA00001|ana>`; None: it is something else."""
    found = _TYPED.fullmatch(text)
    return UserId(found[1]) if found else None
