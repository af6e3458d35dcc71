"""This machine's clock beside that of the record's database: `waterline doctor` says how far they differ."""

from collections.abc import Iterator

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.database_clock import TOLERATED, ahead_at, ahead_in_words
from bot.domain.errors import BadConfiguration
from bot.ports import Clock


def clock_beside_record(url: str, machine: Clock | None = None) -> Iterator[tuple[str, bool, str, str]]:
    """(what, is it good, what was found, what to do); nothing where the record is a file on this machine."""
    what = "clock"
    try:
        ahead = ahead_at(url, machine or SystemClock())
    except BadConfiguration as error:
        yield what, False, f"{error.happened} {error.found}", error.remedy
        return
    if ahead is None:
        return
    is_right = abs(ahead) <= TOLERATED
    remedy = "Keep both machines by NTP. Waterline goes by the database's; Slack and Flink do not."
    yield what, is_right, ahead_in_words(ahead), "" if is_right else remedy
