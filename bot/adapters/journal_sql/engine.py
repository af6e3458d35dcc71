"""The engine: how transactions begin, and how durable a commit is."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import timedelta
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, Executable, Select, Table, and_, create_engine, event, insert, text, update
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DataError, DBAPIError, IntegrityError, PendingRollbackError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoneFree

from bot.observation.errors import BadConfiguration, CouldNotKeep
from bot.ports import Clock

BUSY_TIMEOUT_MS = 10_000
"""How long a writer waits for another one on SQLite."""

_LIMITS = {
    "connect_timeout": 5, "keepalives_idle": 4, "keepalives_interval": 1, "keepalives_count": 3,
    "tcp_user_timeout": 10_000, "client_encoding": "UTF8",
}  # fmt: skip
"""libpq's parameters, in seconds and milliseconds, unless the URL has its own: a host that vanishes without a word
would otherwise hold up every thread for a quarter of an hour and more. Without an encoding, a database that names none
would answer with bytes."""
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


def write(engine: Engine, *statements: Executable) -> None:
    """All in one transaction."""
    with writing(engine) as connection:
        for each in statements:
            connection.execute(each)


def scalar(engine: Engine, wanted: Select[Any]) -> Any:
    """The first column of the first row; None where there is none."""
    with reading(engine) as connection:
        return connection.scalar(wanted)


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


TOLERATED = timedelta(seconds=10)
"""A clock that is kept right is off by milliseconds. So much does not matter where holds last minutes."""
_THEIRS = text("SELECT clock_timestamp()")


def off_by(connection: Connection, machine: Clock) -> str | None:
    """How far this machine's clock is off, `61.0 s ahead of the database's`, where that is too much; None for a file on
    this machine. Whoever works on a shared record decides by its own clock when a hold ends and a proposal expires."""
    if connection.dialect.name == "sqlite":
        return None
    ahead = machine.now() - connection.scalar(_THEIRS)
    side = "ahead of" if ahead >= timedelta(0) else "behind"
    return f"{abs(ahead).total_seconds():.1f} s {side} the database's" if abs(ahead) > TOLERATED else None
