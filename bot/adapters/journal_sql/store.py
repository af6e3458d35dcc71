"""Opens the database, brings it to the newest schema, and bundles the ports over one engine.

Opens the record that a command works on.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from sqlalchemy import Connection, Engine, make_url, text
from sqlalchemy.exc import DBAPIError

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.cursor import SqlCursor
from bot.adapters.journal_sql.database_clock import clock_on
from bot.adapters.journal_sql.engine import create
from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.journal import SqlJournal
from bot.adapters.journal_sql.masked import MaskedInbox, MaskedJournal, MaskedOutbox
from bot.adapters.journal_sql.outbox import SqlOutbox
from bot.adapters.journal_sql.presence import Presence, presence_on
from bot.adapters.journal_sql.tables import is_newest
from bot.adapters.journal_sql.watch_notes import SqlWatchNotes
from bot.domain.errors import BadConfiguration
from bot.domain.masking import Masking
from bot.ports import Clock
from bot.settings import Settings, masking

_MIGRATING = Lock()
"""Alembic's environment is one per process."""
_ADVISORY_LOCK = 7_230_114
"""Any number, the same in every replica: on PostgreSQL one of them migrates and the others wait."""


@dataclass(frozen=True)
class Store:
    """The record. Close it at the end of the process."""

    journal: SqlJournal
    inbox: SqlInbox
    outbox: SqlOutbox
    cursor: SqlCursor
    watched: SqlWatchNotes
    presence: Presence
    clock: Clock
    """By which whoever works on it decides what is due."""
    engine: Engine

    def close(self) -> None:
        """Leave, and give back every connection."""
        self.presence.leave()
        self.engine.dispose()


def open_store(url: str, masking: Masking | None = None, machine: Clock | None = None) -> Store:
    """The record at `url` (`sqlite:///FILE` or `postgresql+psycopg://…`), migrated to the newest schema.

    Who only reads and writes the journal has not joined those who work on it; `presence.join()` does that, and so
    does the first claim. `masking` keeps secrets out of what is written; without one, whatever has a secret's shape.
    `machine` is this machine's own clock; where several machines may share the record, the database's decides.
    Raises BadConfiguration if the database cannot be opened or was made by a newer Waterline.
    """
    engine = create(url)
    shown = engine.url.render_as_string(hide_password=True)
    try:
        with _MIGRATING, engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
            _bring_up(connection)
    except DBAPIError as unreachable:
        engine.dispose()
        raise BadConfiguration(
            f"The record at {shown} could not be opened.",
            f"The database said: {unreachable.orig}.",
            "Check the URL, that its folder exists or its server runs, and that this user may write there.",
        ) from unreachable
    except BadConfiguration:
        engine.dispose()
        raise
    presence, masked = presence_on(engine), masking or Masking()
    return Store(
        journal=MaskedJournal(engine, masked),
        inbox=MaskedInbox(engine, presence, masked),
        outbox=MaskedOutbox(engine, presence, masked),
        cursor=SqlCursor(engine),
        watched=SqlWatchNotes(engine, masked),
        presence=presence,
        clock=clock_on(engine, machine or SystemClock()),
        engine=engine,
    )


def _bring_up(connection: Connection) -> None:
    if not is_newest(connection):
        from bot.adapters.journal_sql.migrating import migrate

        migrate(connection)


class NoRecord(BadConfiguration):
    """Raised where a command reads the record, and its file is not there: an empty one would answer instead."""


@contextmanager
def existing_record(settings: Settings) -> Iterator[Store]:
    """The settings' own record. Raises NoRecord, BadConfiguration."""
    file = make_url(settings.journal_url).database if settings.journal_url.startswith("sqlite") else None
    if file is not None and not Path(file).exists():
        raise NoRecord(
            f"There is no record at {file}.",
            "Expected the database that `waterline serve` writes; the file is not there.",
            "Check `journal.url` and `home` in the configuration, and the folder in which you run this.",
        )
    with closing(open_store(settings.journal_url, masking(settings))) as store:
        yield store


@contextmanager
def record_of(settings: Settings, *, keep: bool) -> Iterator[Store]:
    """The settings' own, or an empty one that is thrown away. Raises BadConfiguration."""
    if keep:
        try:
            settings.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadConfiguration(
                f"The folder {settings.home} cannot be made.",
                f"Expected a folder that you may write into; found {type(error).__name__}: {error.strerror}.",
                "Correct `home` in the configuration, or the permissions.",
            ) from error
        with closing(open_store(settings.journal_url, masking(settings))) as store:
            yield store
    else:
        with (
            TemporaryDirectory(prefix="waterline-") as folder,
            closing(open_store(f"sqlite:///{folder}/journal.db", masking(settings))) as store,
        ):
            yield store
