"""The time by which everybody on one PostgreSQL record decides: the database's, wherever a bot runs.

By a machine's own clock that is a minute ahead, a veto's time and an approval's term would end a minute early.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import structlog
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from bot.adapters.journal_sql.engine import create, reading
from bot.domain.errors import BadConfiguration, CouldNotKeep
from bot.ports import Clock, Timers

TOLERATED = timedelta(seconds=2)
"""A machine that is kept right differs by milliseconds, and people read times to the second: a clock that is off by
more is kept by nobody. A comparison that took longer than this tells too little."""
_COMPARE_EVERY_S = 30.0
"""One small query; meanwhile the machine's steady counter is right to a millisecond or so."""
_TRIES = 3
"""The first one also opens the transaction; that with the shortest way is believed."""
_THEIRS = text("SELECT clock_timestamp()")
log = structlog.get_logger(__name__)


def _steady_s() -> float:
    """Seconds by a counter that nobody sets, and that goes on while the machine sleeps: Linux's monotonic clock stands
    still then."""
    which = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if which is None else time.clock_gettime(which)


class _Compared(NamedTuple):
    """One comparison: the database's time at a reading of the steady counter, and how long the question took."""

    theirs: datetime
    counter: float
    took: timedelta
    ahead: timedelta


class DatabaseClock:
    """The port `Clock`, by the database. Between two comparisons time goes on by a counter that nobody sets, so that
    putting the machine's clock right, or wrong, moves no decision."""

    def __init__(self, engine: Engine, machine: Clock, counter: Callable[[], float] = _steady_s) -> None:
        """Compares once. Raises CouldNotKeep."""
        self._engine, self._machine, self._counter = engine, machine, counter
        self._last = self._comparison()
        self._is_told = False

    def now(self) -> datetime:
        """See the port. Asks nobody; off by half of the way to the database at most."""
        theirs, counter, _took, _ahead = self._last
        return theirs + timedelta(seconds=self._counter() - counter)

    @property
    def ahead(self) -> timedelta:
        """How far this machine's own clock was ahead of the database's when they were compared; negative: behind."""
        return self._last.ahead

    def compare(self) -> None:
        """Ask again, and say so once where the machine's clock is off. While the database is away, or slow, what was
        found before goes on to count: nothing can be decided then anyway."""
        try:
            found = self._comparison()
        except CouldNotKeep:
            return
        if found.took <= TOLERATED:
            self._last = found
        is_off = abs(self.ahead) > TOLERATED
        if is_off and not self._is_told:
            log.warning(
                "this machine's clock is off; Waterline goes by the database's",
                found=ahead_in_words(self.ahead),
                to_do="Keep both by NTP: Slack refuses what is signed by a clock that is off by five minutes.",
            )
        self._is_told = is_off

    def goes_on(self, timers: Timers) -> None:
        self.compare()
        timers.every("compare clocks", _COMPARE_EVERY_S, self.compare)

    def _comparison(self) -> _Compared:
        with reading(self._engine) as connection:
            return min((self._asked(connection) for _ in range(_TRIES)), key=lambda each: each.took)

    def _asked(self, connection: Connection) -> _Compared:
        """The database is taken to have answered when half of the way was gone."""
        before, ours_before = self._counter(), self._machine.now()
        theirs = connection.execute(_THEIRS).scalar_one().astimezone(UTC)
        after, ours_after = self._counter(), self._machine.now()
        ours = ours_before + (ours_after - ours_before) / 2
        return _Compared(theirs, (before + after) / 2, timedelta(seconds=after - before), ours - theirs)


def clock_on(engine: Engine, machine: Clock) -> Clock:
    """By which those decide who work on this record: on SQLite, where it is on their own machine, that machine's.
    Raises CouldNotKeep."""
    return machine if engine.dialect.name == "sqlite" else DatabaseClock(engine, machine)


def ahead_at(url: str, machine: Clock) -> timedelta | None:
    """How far this machine's clock is ahead of the record's database; None for a file on this machine. Changes
    nothing there. Raises BadConfiguration."""
    engine = create(url)
    try:
        clock = clock_on(engine, machine)
        return clock.ahead if isinstance(clock, DatabaseClock) else None
    except (CouldNotKeep, DBAPIError) as away:
        raise BadConfiguration(
            "The record's database did not answer.", str(away), "Check `journal.url`, and that its server runs."
        ) from away
    finally:
        engine.dispose()


def ahead_in_words(ahead: timedelta) -> str:
    """`61.0 s ahead of the database's`."""
    side = "ahead of" if ahead >= timedelta(0) else "behind"
    return f"{abs(ahead).total_seconds():.1f} s {side} the database's"
