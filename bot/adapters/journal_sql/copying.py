"""Copies the whole record into one SQLite file while bots write it, and puts a copy into an empty record."""

import shutil
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Engine, func, insert, select

from bot.adapters.journal_sql.engine import reading, writing
from bot.adapters.journal_sql.schema import METADATA
from bot.adapters.journal_sql.store import Store, existing_record, open_store, record_of
from bot.observation.errors import BadConfiguration
from bot.settings import Settings

_AT_A_TIME = 1000
"""Rows that are copied together."""


def copy_record(settings: Settings, to: Path) -> None:
    """The record as one transaction sees it, from either database. Raises BadConfiguration and NoRecord; then nothing
    is left behind."""
    with existing_record(settings) as store, TemporaryDirectory(prefix="waterline-") as folder:
        made = Path(folder) / "copy.db"
        with closing(open_store(f"sqlite:///{made}")) as copy:
            _move(store.engine, copy.engine)
        try:
            with to.open("xb") as file, made.open("rb") as whole:
                shutil.copyfileobj(whole, file)
        except OSError as error:
            if not isinstance(error, FileExistsError):
                to.unlink(missing_ok=True)
            raise BadConfiguration(
                f"The record was not copied to {to}.",
                f"Expected a new file in a folder that you may write into; found {type(error).__name__}: "
                f"{error.strerror}.",
                "Choose another path.",
            ) from error


def restore_record(settings: Settings, copy: Path) -> None:
    """What `copy_record` wrote, into the settings' own record, which must be empty; the copy stays as it is. Raises
    BadConfiguration, also while a bot works on the record."""
    with TemporaryDirectory(prefix="waterline-") as folder, record_of(settings, keep=True) as store:
        _must_be_unused(store)
        read = Path(folder) / "copy.db"
        try:
            shutil.copyfile(copy, read)
            with closing(open_store(f"sqlite:///{read}")) as kept:
                _move(kept.engine, store.engine)
        except (OSError, BadConfiguration) as error:
            raise BadConfiguration(
                f"The record was not restored from {copy}.",
                f"Expected a file that `waterline record backup` wrote. {error}",
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
