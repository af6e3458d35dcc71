"""A time of day as it is said beside another moment: with its day, unless both are of one day."""

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
