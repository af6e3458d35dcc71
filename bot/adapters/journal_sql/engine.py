"""The engine: how transactions begin, and how durable a commit is."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import structlog
from sqlalchemy import Connection, Engine, Table, and_, create_engine, event, insert, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, PendingRollbackError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoneFree

from bot.observation.errors import BadConfiguration, CouldNotKeep
from bot.ports import Clock, Timers

BUSY_TIMEOUT_MS = 10_000
"""How long a writer waits for another one on SQLite."""

_LIMITS = {
    "connect_timeout": 5, "keepalives_idle": 4, "keepalives_interval": 1, "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}  # fmt: skip
"""libpq's parameters, in seconds and the last in milliseconds, unless the URL has its own: a host that vanishes without
a word would otherwise hold up every thread for a quarter of an hour and more."""
_OURS = (IntegrityError, ProgrammingError, DataError)
"""What a statement of ours did wrong; the database is well."""

_TURNS: WeakKeyDictionary[Engine, Lock] = WeakKeyDictionary()


def create(url: str) -> Engine:
    """An engine on which every write transaction takes the write lock at its begin.

    Python's sqlite3 begins lazily and deferred, so two writers that both read first would end in
    SQLITE_BUSY without waiting; `BEGIN IMMEDIATE` makes the second one wait its turn. Raises BadConfiguration for an
    address that names no database.
    """
    try:
        made = make_url(url)
        limits = (
            {} if made.drivername.startswith("sqlite") else {k: v for k, v in _LIMITS.items() if k not in made.query}
        )
        engine = create_engine(made, pool_pre_ping=not url.startswith("sqlite"), connect_args=limits)
    except (ArgumentError, ModuleNotFoundError) as unusable:
        raise BadConfiguration(
            "The record's URL cannot be used.",
            f"SQLAlchemy said: {unusable}.",
            "Write `sqlite:///FILE`, or `postgresql+psycopg://USER@HOST/DATABASE` with the package psycopg.",
        ) from unusable
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        _TURNS[engine] = Lock()
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads: one consistent view, no write lock. Writers do not wait for it."""
    if engine.dialect.name == "sqlite":
        view = engine.execution_options(waterline_reads=True)
    else:
        view = engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    with translated(engine, "read"), view.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes, ended with the block.

    SQLite has one write lock, and who finds it taken sleeps up to 100 ms before it looks again. So the threads of
    this process queue here, where each is woken as soon as it is its turn; SQLite's own waiting is left for others.
    """
    with _TURNS.get(engine) or nullcontext(), translated(engine, "written"), engine.begin() as connection:
        yield connection


@contextmanager
def translated(engine: Engine, what: str) -> Iterator[None]:
    """The database is away, full, damaged, busy, or a standby that takes no writes yet: said once in our words. Raises
    CouldNotKeep."""
    try:
        yield
    except _OURS:
        raise
    except (DBAPIError, NoneFree, PendingRollbackError) as away:
        raise CouldNotKeep(
            f"Waterline's record cannot be {what} now.",
            f"The database at {engine.url.render_as_string(hide_password=True)} said: "
            f"{getattr(away, 'orig', None) or away}.",
            "Free its disk or restart it. Waterline then continues with what was stored. What was not stored was "
            "not begun.",
        ) from away


def put_row(engine: Engine, table: Table, key: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Write one row by its primary key, whether or not it exists. Two at once end with one of the values."""
    change = update(table).where(and_(*(table.c[name] == value for name, value in key.items()))).values(values)
    with writing(engine) as connection:
        if connection.execute(change).rowcount:
            return
    try:
        with writing(engine) as connection:
            connection.execute(insert(table).values({**key, **values}))
    except IntegrityError:
        with writing(engine) as connection:
            connection.execute(change)


def _configure_sqlite(connection: Any, _record: object) -> None:
    """WAL, and a commit that survives the loss of power.

    `synchronous=FULL` costs one fsync a commit. `NORMAL` would survive a killed process just as well, but
    after a loss of power an entry `execution-started` could be gone while its effect is in the world.
    """
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    reads = connection.get_execution_options().get("waterline_reads", False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


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
