"""Opens the database, brings it to the newest schema, and bundles the ports over one engine.

Secrets are masked on the way in: what is not written cannot be read.
"""

import errno
import json
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

from pydantic import TypeAdapter
from sqlalchemy import Connection, Engine, delete, func, insert, make_url, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.engine import clock_on, create, put_row, reading, writing
from bot.adapters.journal_sql.inbox import SqlInbox
from bot.adapters.journal_sql.journal import SqlJournal
from bot.adapters.journal_sql.membership import Presence
from bot.adapters.journal_sql.outbox import SqlOutbox
from bot.adapters.journal_sql.schema import CURSORS, METADATA, SEEN_STARTS, WATCH_NOTES, is_newest
from bot.incident.entries import Body
from bot.incident.journal import Entry
from bot.incident.watch import NOTE, WatchNote, note_key
from bot.observation.errors import BadConfiguration
from bot.observation.flink import MOST_STARTS, RememberedStart
from bot.observation.ids import IncidentId, TableName
from bot.observation.masking import MASK, Masking
from bot.ports import Clock, Delivery, Post
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
            with writing(self._engine) as connection:
                connection.execute(insert(WATCH_NOTES).values(row))
        except IntegrityError:
            return False
        return True

    def of(self, table: TableName) -> tuple[WatchNote, ...]:
        wanted = select(WATCH_NOTES.c.body).where(WATCH_NOTES.c.table_name == table).order_by(WATCH_NOTES.c.position)
        with reading(self._engine) as connection:
            return tuple(NOTE.validate_json(body) for body in connection.scalars(wanted))

    def find(self, key: str) -> WatchNote | None:
        with reading(self._engine) as connection:
            body = connection.scalar(select(WATCH_NOTES.c.body).where(WATCH_NOTES.c.key == key))
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
        """Last seq that was projected; 0 at first."""
        place = select(CURSORS.c.seq).where(CURSORS.c.name == name, CURSORS.c.incident_id == incident)
        with reading(self._engine) as connection:
            return connection.scalar(place) or 0

    def all(self, name: str) -> dict[IncidentId, int]:
        """The same of every incident of which any was projected. Cost: one query."""
        places = select(CURSORS.c.incident_id, CURSORS.c.seq).where(CURSORS.c.name == name)
        with reading(self._engine) as connection:
            return {IncidentId(row.incident_id): row.seq for row in connection.execute(places)}

    def set(self, name: str, incident: IncidentId, seq: int) -> None:
        put_row(self._engine, CURSORS, {"name": name, "incident_id": incident}, {"seq": seq})


_BODY: TypeAdapter[Body] = TypeAdapter(Body)
_CAPABILITY = re.compile(r'("(?:token|response_url)": ?")[^"]+')
"""What Slack sends along and this bot does not use: whoever has it can speak in the channel for half an hour."""


class MaskedJournal(SqlJournal):
    """A journal that writes no secret. An effect must not hold one either: it would be carried out without it."""

    def __init__(self, engine: Engine, masking: Masking) -> None:
        super().__init__(engine)
        self._masking = masking

    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        return super().open(self._masked(body), by=by, at=at)

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        return super().append(incident, after_seq, [self._masked(body) for body in bodies], by=by, at=at)

    def _masked(self, body: Body) -> Body:
        """The very same body where nothing is masked, which is nearly always."""
        content = body.model_dump(mode="json")
        masked = self._masking.of(content)
        return body if masked == content else _BODY.validate_json(json.dumps(masked))


class MaskedInbox(SqlInbox):
    def __init__(self, engine: Engine, presence: Presence, masking: Masking) -> None:
        super().__init__(engine, presence)
        self._masking = masking

    def put(self, delivery: Delivery) -> bool:
        masked = json.dumps(self._masking.of(json.loads(delivery.payload)))  # as one text, JSON's own quotes would go
        payload = _CAPABILITY.sub(rf"\g<1>{MASK}", masked)
        return super().put(delivery.model_copy(update={"payload": payload}))

    def done(self, delivery: Delivery, problem: str | None = None) -> None:
        super().done(delivery, None if problem is None else self._masking.text(problem))


class MaskedOutbox(SqlOutbox):
    """Sends no secret: an answer may quote the error of a library."""

    def __init__(self, engine: Engine, presence: Presence, clock: Clock, masking: Masking) -> None:
        super().__init__(engine, presence, clock)
        self._masking = masking

    def put(self, post: Post) -> bool:
        text = None if post.text is None else self._masking.text(post.text)
        return super().put(post.model_copy(update={"text": text}))

    def postpone(self, key: str, until: datetime, problem: str, *, whole_channel: bool) -> None:
        super().postpone(key, until, self._masking.text(problem), whole_channel=whole_channel)

    def failed(self, key: str, revision: int, problem: str) -> None:
        super().failed(key, revision, self._masking.text(problem))


_AT_A_TIME = 1000
"""Rows that are copied together."""
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
    """By which whoever works on it decides what is due."""
    engine: Engine

    def close(self) -> None:
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
    presence, masked = Presence(engine), masking or Masking()
    clock = clock_on(engine, machine or SystemClock())
    return Store(
        journal=MaskedJournal(engine, masked),
        inbox=MaskedInbox(engine, presence, masked),
        outbox=MaskedOutbox(engine, presence, clock, masked),
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


def copy_record(settings: Settings, to: Path) -> None:
    """The whole record as one transaction sees it, into a new SQLite file, whatever database it is in. Raises
    BadConfiguration and NoRecord; then nothing is left behind."""
    with existing_record(settings) as store:
        part = to.with_name(f"{to.name}.part")
        try:
            if to.exists():
                raise FileExistsError(errno.EEXIST, "it is there already")
            if store.engine.dialect.name == "sqlite":
                _copy_file(Path(store.engine.url.database or ""), part)
            else:
                part.touch()
                with closing(open_store(f"sqlite:///{part.resolve()}")) as copy:
                    _move(store.engine, copy.engine)
            part.replace(to)
        except (OSError, sqlite3.Error) as error:
            part.unlink(missing_ok=True)
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise BadConfiguration(
                f"The record was not copied to {to}.",
                f"Expected a new file in a folder that you may write into; found {type(error).__name__}: {reason}.",
                "Choose another path.",
            ) from error


def restore_record(settings: Settings, copy: Path) -> None:
    """What `copy_record` wrote, into the settings' own record, which must be empty; the copy stays as it is. Raises
    BadConfiguration, also while a bot works on the record."""
    with TemporaryDirectory(prefix="waterline-") as folder, record_of(settings, keep=True) as store:
        _must_be_unused(store)
        read = Path(folder) / "copy.db"
        try:
            _copy_file(copy, read)
            with closing(open_store(f"sqlite:///{read}")) as kept:
                _move(kept.engine, store.engine)
        except (sqlite3.Error, IntegrityError) as error:
            raise BadConfiguration(
                f"The record was not restored from {copy}.",
                f"Expected a file that `waterline record backup` wrote; found {type(error).__name__}: {error}.",
                "Name another copy. The record is still empty.",
            ) from error


def _must_be_unused(store: Store) -> None:
    shown = store.engine.url.render_as_string(hide_password=True)
    if not store.presence.join_alone():
        raise BadConfiguration(
            f"A bot works on the record at {shown}.",
            "Expected that nobody does, since a restore writes every table.",
            "Stop every Waterline, then restore again.",
        )
    with reading(store.engine) as connection:
        used = [table.name for table in METADATA.sorted_tables if connection.execute(select(table).limit(1)).first()]
    if used:
        raise BadConfiguration(
            f"The record at {shown} is not empty.",
            f"Expected a new one; found rows in {', '.join(used)}.",
            "Move the SQLite file away, or name an empty database in `journal.url`.",
        )


def _copy_file(record: Path, to: Path) -> None:
    """By SQLite itself: whole, while others write."""
    with (
        closing(sqlite3.connect(f"{record.resolve().as_uri()}?mode=ro", uri=True)) as one,
        closing(sqlite3.connect(to)) as two,
    ):
        one.backup(two)


def _move(source: Engine, target: Engine) -> None:
    """Every row, in one transaction on either side. PostgreSQL then counts on from the highest position."""
    with reading(source) as one, writing(target) as two:
        for table in METADATA.sorted_tables:
            for rows in one.execution_options(yield_per=_AT_A_TIME).execute(select(table)).mappings().partitions():
                two.execute(insert(table), [dict(row) for row in rows])
            if two.dialect.name == "postgresql" and "position" in table.c:
                highest = select(func.max(table.c.position)).scalar_subquery()
                counter = func.pg_get_serial_sequence(table.name, "position")
                two.execute(select(func.setval(counter, func.coalesce(highest, 1), highest.is_not(None))))


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
