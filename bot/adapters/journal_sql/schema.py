"""The tables, as the newest migration leaves them. Moments are ISO text in UTC, so that they sort and read.

Which schema the record has, and which is the newest: asked at every start, so without Alembic.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Dialect,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    inspect,
    text,
)

METADATA = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def iso(moment: datetime) -> str:
    """The one way a moment is written: UTC, microseconds, fixed width, so that text order is time order."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


class Moment(TypeDecorator[datetime]):
    """An aware datetime, stored as `iso` text; every database then keeps zone and microseconds alike."""

    impl = String(32)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        return None if value is None else iso(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        return None if value is None else datetime.fromisoformat(value)


def _position(comment: str) -> Column[int]:
    number = BigInteger().with_variant(Integer, "sqlite")
    return Column("position", number, primary_key=True, autoincrement=True, comment=comment)


INCIDENTS = Table(
    "incidents",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False, comment="The n of wl-n."),
    Column("last_seq", Integer, nullable=False, comment="Compared and swapped by each append."),
    Column("last_hash", String(64), nullable=False, comment="Anchor of the chain: a cut tail is seen by it."),
)

JOURNAL = Table(
    "journal",
    METADATA,
    Column("incident_id", String(32), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(64), nullable=False),
    Column("once", String(300), nullable=True, unique=True, comment="Set where an entry may exist only once."),
    Column("at", String(32), nullable=False, comment="Text exactly as hashed."),
    Column("by", String(64), nullable=False),
    Column("body", Text, nullable=False, comment="JSON text exactly as hashed."),
    Column("prev_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

OPEN_TABLES = Table(
    "open_tables",
    METADATA,
    Column("table_name", String(300), primary_key=True, comment="One open incident a table."),
    Column("number", Integer, nullable=False, comment="The n of wl-n."),
)

INBOX = Table(
    "inbox",
    METADATA,
    Column("key", String(300), primary_key=True),
    Column("kind", String(64), nullable=False),
    Column("payload", Text, nullable=False),
    Column("received_at", Moment, nullable=False),
    Column("state", String(16), nullable=False, comment="waiting | taken | done"),
    Column("taken_at", Moment, nullable=True),
    Column("worker", String(64), nullable=True),
    Column("attempts", Integer, nullable=False),
    Column("written", Integer, nullable=False, comment="Entries that work on it has added to the journal."),
    Column("problem", Text, nullable=True),
    Index("ix_inbox_state", "state", "received_at"),
)

OUTBOX = Table(
    "outbox",
    METADATA,
    _position("Order of being put: posts go out in this order."),
    Column("key", String(300), nullable=False, unique=True),
    Column("incident", String(32), nullable=True),
    Column("channel", String(64), nullable=False),
    Column("thread_of", String(300), nullable=True),
    Column("recipient", String(64), nullable=True, comment="Set for an ephemeral message."),
    Column("text", Text, nullable=True),
    Column("ts", String(32), nullable=True),
    Column("wanted", Integer, nullable=False),
    Column("shown", Integer, nullable=False),
    Column("state", String(16), nullable=False, comment="queued | sending | sent | failed"),
    Column("worker", String(64), nullable=True),
    Column("queued_at", Moment, nullable=False, comment="Since when this revision waits."),
    Column("due_at", Moment, nullable=True, comment="Not before."),
    Column("tries", Integer, nullable=False),
    Column("problem", Text, nullable=True),
    Index("ix_outbox_state", "state", "position"),
)

PAUSES = Table(
    "channel_pauses", METADATA, Column("channel", String(64), primary_key=True), Column("until", Moment, nullable=False)
)

CURSORS = Table(
    "cursors",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("incident_id", String(32), primary_key=True),
    Column("seq", Integer, nullable=False),
)

WATCH_NOTES = Table(
    "watch_notes",
    METADATA,
    _position("Order of being added."),
    Column("key", String(300), nullable=False, unique=True),
    Column("table_name", String(300), nullable=False),
    Column("at", Moment, nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_watch_notes_table_name", "table_name"),
)

SEEN_STARTS = Table(
    "seen_starts",
    METADATA,
    _position("Order of being added."),
    Column("key", String(64), nullable=False, unique=True),
    Column("job", String(300), nullable=False),
    Column("body", Text, nullable=False),
    Index("ix_seen_starts_job", "job", "position"),
)


MIGRATIONS = Path(__file__).parent / "migrations"
NEWEST = "0001"
"""The revision that no other one follows."""


def is_newest(connection: Connection) -> bool:
    """Whether there is nothing to migrate. Cost: two small queries."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    return set(connection.scalars(text("SELECT version_num FROM alembic_version"))) == {NEWEST}
