"""For how long findings can be muted."""

from datetime import timedelta

from bot.domain.errors import Refused
from bot.domain.ids import TableName
from bot.domain.spans import span

SHORTEST = timedelta(minutes=1)
LONGEST = timedelta(days=7)


def refuse_length(table: TableName, length: timedelta) -> None:
    """Raises Refused for a time that is no time, or too long (both bounds are allowed)."""
    if length > LONGEST:
        raise Refused(
            f"{table} is not muted for so long.",
            f"Expected at most {LONGEST.days} days; found {span(length)}.",
            "Nothing is forgotten by a mute that ends: mute it again then.",
        )
    if length < SHORTEST:
        raise Refused(
            f"{table} was not muted.",
            f"Expected a time from a minute to {LONGEST.days} days; found {span(length) if length else 'none'}.",
            f"Name one such as 30m, 4h or 2d. To hear of it again: /waterline unmute {table}.",
        )
