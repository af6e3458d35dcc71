"""A time of day as it is said beside other moments: with its day, unless all are of one day."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime


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
