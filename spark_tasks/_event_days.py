"""Events of which only the day is known, as a column of type `date` tells it: they happened anywhere in that day."""

from datetime import timedelta

from bot.domain.evidence import Ask
from bot.domain.looked import NotSeen
from bot.domain.table import Snapshot
from spark_tasks._words import at

_DAY = timedelta(days=1)


def knows_days_only(ask: Ask) -> bool:
    """Whether the contract's event time is such a column."""
    kinds = {column.name: column.type for column in ask.observation.table.columns}
    return kinds.get(ask.contract.event_time or "") == "date"


def surely_older_than(top: int, newest: Snapshot) -> bool:
    """Whether a whole day lies between the end of the highest day and the commit: within a day nothing rises."""
    return newest.committed_at >= at(top) + 2 * _DAY


def age_by_day(now_s: float, least_s: float, promised_s: float | None) -> float | None:
    """The age of the newest event, in seconds; `now_s`: since the day began, `least_s`: since the newest commit. The
    most that it can be, or the least where that is more than promised; None where the promise lies between them."""
    least, most = max(now_s - _DAY.total_seconds(), least_s), max(now_s, least_s)
    if promised_s is None or most <= promised_s:
        return most
    return least if least > promised_s else None


def only_a_day(ask: Ask) -> NotSeen:
    """What is said where the promise is finer than what is known."""
    column = ask.contract.event_time
    return NotSeen(
        source=f"column {column} of {ask.observation.table.name}",
        reason=f"Column {column} holds days: whether the newest event happened within what the contract promises is "
        "not known.",
        remedy="Name a column with the time of the event as event_time, or promise commit_every instead of freshness.",
    )
