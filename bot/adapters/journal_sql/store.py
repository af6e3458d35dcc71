"""Opens the database, brings it to the newest schema, and bundles the ports over one engine.

Secrets are masked on the way in: what is not written cannot be read.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from sqlalchemy import Connection, Engine, delete, insert, make_url, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.engine import create, off_by, put_row, reading, scalar, write, writing
from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.journal import SqlJournal
from bot.adapters.journal_sql.membership import Presence
from bot.adapters.journal_sql.outbox import SqlOutbox
from bot.adapters.journal_sql.schema import CURSORS, SEEN_STARTS, WATCH_NOTES, is_newest
from bot.incident.watch import NOTE, WatchNote, note_key
from bot.observation.errors import BadConfiguration
from bot.observation.flink import MOST_STARTS, RememberedStart
from bot.observation.ids import IncidentId, TableName
from bot.observation.masking import Masking
from bot.ports import Clock
from bot.settings import Settings, masking


class SqlWatchNotes:
    """The port `WatchNotes` on a SQL database; no secret is written."""

    def __init__(self, engine: Engine, masking: Masking) -> None:
        self._engine = engine
        self._masking = masking

    def add(self, note: WatchNote) -> bool:
        body = NOTE.validate_python(self._masking.of(note.model_dump(mode="json")))
        row = {"key": note_key(body), "table_name": body.table, "at": body.at, "body": body.model_dump_json()}
        try:
            write(self._engine, insert(WATCH_NOTES).values(row))
        except IntegrityError:
            return False
        return True

    def of(self, table: TableName) -> tuple[WatchNote, ...]:
        wanted = select(WATCH_NOTES.c.body).where(WATCH_NOTES.c.table_name == table).order_by(WATCH_NOTES.c.position)
        with reading(self._engine) as connection:
            return tuple(NOTE.validate_json(body) for body in connection.scalars(wanted))

    def find(self, key: str) -> WatchNote | None:
        body = scalar(self._engine, select(WATCH_NOTES.c.body).where(WATCH_NOTES.c.key == key))
        return None if body is None else NOTE.validate_json(body)


class SqlSeenStarts:
    """The port `SeenStarts` on a SQL database; no secret is written."""

    def __init__(self, engine: Engine, masking: Masking) -> None:
        self._engine = engine
        self._masking = masking

    def add(self, start: RememberedStart) -> None:
        """Two replicas that see the same at once: who comes second adds to what the first wrote."""
        masked = RememberedStart.model_validate(self._masking.of(start.model_dump(mode="json")))
        try:
            self._put(masked)
        except IntegrityError:
            self._put(masked)

    def _put(self, start: RememberedStart) -> None:
        mine = SEEN_STARTS.c.key == start.key
        with writing(self._engine) as connection:
            body = connection.scalar(select(SEEN_STARTS.c.body).where(mine).with_for_update())
            if body is not None:
                known = RememberedStart.model_validate_json(body)
                if (now := known.with_seen(start)) != known:
                    connection.execute(update(SEEN_STARTS).where(mine).values(body=now.model_dump_json()))
                return
            row = {"key": start.key, "job": start.job, "body": start.model_dump_json()}
            connection.execute(insert(SEEN_STARTS).values(row))
            of_job = select(SEEN_STARTS.c.position).where(SEEN_STARTS.c.job == start.job)
            too_old = connection.scalar(of_job.order_by(SEEN_STARTS.c.position.desc()).offset(MOST_STARTS).limit(1))
            if too_old is not None:
                old = (SEEN_STARTS.c.job == start.job) & (SEEN_STARTS.c.position <= too_old)
                connection.execute(delete(SEEN_STARTS).where(old))

    def of(self, job: str) -> tuple[RememberedStart, ...]:
        wanted = select(SEEN_STARTS.c.body).where(SEEN_STARTS.c.job == job).order_by(SEEN_STARTS.c.position)
        with reading(self._engine) as connection:
            return tuple(RememberedStart.model_validate_json(body) for body in connection.scalars(wanted))


class SqlCursor:
    """The port `Cursor` on a SQL database."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, name: str, incident: IncidentId) -> int:
        return (
            scalar(self._engine, select(CURSORS.c.seq).where(CURSORS.c.name == name, CURSORS.c.incident_id == incident))
            or 0
        )

    def all(self, name: str) -> dict[IncidentId, int]:
        places = select(CURSORS.c.incident_id, CURSORS.c.seq).where(CURSORS.c.name == name)
        with reading(self._engine) as connection:
            return {IncidentId(row.incident_id): row.seq for row in connection.execute(places)}

    def set(self, name: str, incident: IncidentId, seq: int) -> None:
        put_row(self._engine, CURSORS, {"name": name, "incident_id": incident}, {"seq": seq})


_MIGRATING = Lock()
"""Alembic's environment is one per process."""
_ADVISORY_LOCK = 7_230_114
"""Any number, the same in every replica: on PostgreSQL one of them migrates and the others wait."""


@dataclass(frozen=True)
class Store:
    journal: SqlJournal
    inbox: SqlInbox
    outbox: SqlOutbox
    cursor: SqlCursor
    watched: SqlWatchNotes
    starts: SqlSeenStarts
    presence: Presence
    clock: Clock
    engine: Engine

    def close(self) -> None:
        self.presence.leave()
        self.engine.dispose()


def open_store(url: str, masking: Masking | None = None, machine: Clock | None = None) -> Store:
    """The record at `url` (`sqlite:///FILE` or `postgresql+psycopg://…`), migrated to the newest schema.

    Who only reads and writes the journal has not joined those who work on it; `presence.join()` does that, and so
    does the first claim. `masking` keeps secrets out of what is written; without one, whatever has a secret's shape.
    `machine` is this machine's clock, by which it decides what is due.
    Raises BadConfiguration if the database cannot be opened or cannot store every character, was made by a newer
    Waterline, or goes by another time.
    """
    engine, clock = create(url), machine or SystemClock()
    shown = engine.url.render_as_string(hide_password=True)
    try:
        with _MIGRATING, engine.begin() as connection:
            if connection.dialect.name == "postgresql":
                _refuse_another_encoding(connection, shown)
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
            _bring_up(connection)
            _refuse_another_time(connection, clock)
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
    presence, masked = Presence(engine, clock), masking or Masking()
    return Store(
        journal=SqlJournal(engine, masked),
        inbox=SqlInbox(engine, presence, masked),
        outbox=SqlOutbox(engine, presence, clock, masked),
        cursor=SqlCursor(engine),
        watched=SqlWatchNotes(engine, masked),
        starts=SqlSeenStarts(engine, masked),
        presence=presence,
        clock=clock,
        engine=engine,
    )


def _bring_up(connection: Connection) -> None:
    if not is_newest(connection):
        from bot.adapters.journal_sql.migrating import migrate

        migrate(connection)


def _refuse_another_encoding(connection: Connection, shown: str) -> None:
    if (found := connection.scalar(text("SHOW server_encoding"))) != "UTF8":
        raise BadConfiguration(
            f"The record at {shown} cannot store every character.",
            f"Expected a database with the encoding UTF8; found {found}.",
            "Create another one, and name it in `journal.url`: "
            "CREATE DATABASE waterline ENCODING 'UTF8' TEMPLATE template0.",
        )


def _refuse_another_time(connection: Connection, machine: Clock) -> None:
    if (found := off_by(connection, machine)) is not None:
        raise BadConfiguration(
            "This machine's clock is off, so it does not open the record.",
            f"Expected the time of the record's database; this clock is {found}.",
            "Keep both clocks right with NTP: they decide when a hold ends and when a proposal expires.",
        )


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
def record_of(settings: Settings, *, keep: bool, machine: Clock | None = None) -> Iterator[Store]:
    """The settings' own, or an empty one that is thrown away. `machine`: see `open_store`. Raises BadConfiguration."""
    if keep:
        try:
            settings.home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BadConfiguration(
                f"The folder {settings.home} cannot be created.",
                f"Expected a folder that you may write into; found {type(error).__name__}: {error.strerror}.",
                "Correct `home` in the configuration, or the permissions.",
            ) from error
        with closing(open_store(settings.journal_url, masking(settings), machine)) as store:
            yield store
    else:
        with (
            TemporaryDirectory(prefix="waterline-") as folder,
            closing(open_store(f"sqlite:///{folder}/journal.db", masking(settings))) as store,
        ):
            yield store
