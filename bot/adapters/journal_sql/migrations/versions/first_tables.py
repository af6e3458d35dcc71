"""The journal with its anchors, open tables, inbox, outbox, channel pauses, cursors and what the watch has seen."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_POSITION = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    op.create_table(
        "incidents",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False, comment="The n of wl-n."),
        sa.Column("last_seq", sa.Integer, nullable=False, comment="Compared and swapped by each append."),
        sa.Column("last_hash", sa.String(64), nullable=False, comment="Anchor of the chain: a cut tail is seen by it."),
    )
    op.create_table(
        "journal",
        sa.Column("incident_id", sa.String(32), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column(
            "once", sa.String(300), nullable=True, unique=True, comment="Set where an entry may exist only once."
        ),
        sa.Column("at", sa.String(32), nullable=False, comment="Text exactly as hashed."),
        sa.Column("by", sa.String(64), nullable=False),
        sa.Column("body", sa.Text, nullable=False, comment="JSON text exactly as hashed."),
        sa.Column("prev_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_table(
        "open_tables",
        sa.Column("table_name", sa.String(300), primary_key=True, comment="One open incident a table."),
        sa.Column("number", sa.Integer, nullable=False, comment="The n of wl-n."),
    )
    op.create_table(
        "inbox",
        sa.Column("key", sa.String(300), primary_key=True),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("received_at", sa.String(32), nullable=False),
        sa.Column("state", sa.String(16), nullable=False, comment="waiting | taken | done"),
        sa.Column("taken_at", sa.String(32), nullable=True),
        sa.Column("worker", sa.String(64), nullable=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("written", sa.Integer, nullable=False, comment="Entries that work on it has added to the journal."),
        sa.Column("problem", sa.Text, nullable=True),
    )
    op.create_index("ix_inbox_state", "inbox", ["state", "received_at"])
    op.create_table(
        "outbox",
        sa.Column(
            "position",
            _POSITION,
            primary_key=True,
            autoincrement=True,
            comment="Order of being put: posts go out in this order.",
        ),
        sa.Column("key", sa.String(300), nullable=False, unique=True),
        sa.Column("incident", sa.String(32), nullable=True),
        sa.Column("channel", sa.String(64), nullable=False),
        sa.Column("thread_of", sa.String(300), nullable=True),
        sa.Column("recipient", sa.String(64), nullable=True, comment="Set for an ephemeral message."),
        sa.Column("text", sa.Text, nullable=True),
        sa.Column("ts", sa.String(32), nullable=True),
        sa.Column("wanted", sa.Integer, nullable=False),
        sa.Column("shown", sa.Integer, nullable=False),
        sa.Column("state", sa.String(16), nullable=False, comment="queued | sending | sent | failed"),
        sa.Column("worker", sa.String(64), nullable=True),
        sa.Column("queued_at", sa.String(32), nullable=False, comment="Since when this revision waits."),
        sa.Column("due_at", sa.String(32), nullable=True, comment="Not before."),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("problem", sa.Text, nullable=True),
    )
    op.create_index("ix_outbox_state", "outbox", ["state", "position"])
    op.create_table(
        "channel_pauses",
        sa.Column("channel", sa.String(64), primary_key=True),
        sa.Column("until", sa.String(32), nullable=False),
    )
    op.create_table(
        "cursors",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("incident_id", sa.String(32), primary_key=True),
        sa.Column("seq", sa.Integer, nullable=False),
    )
    op.create_table(
        "watch_notes",
        sa.Column("position", _POSITION, primary_key=True, autoincrement=True, comment="Order of being added."),
        sa.Column("key", sa.String(300), nullable=False, unique=True),
        sa.Column("table_name", sa.String(300), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("ix_watch_notes_table_name", "watch_notes", ["table_name"])
    op.create_table(
        "seen_starts",
        sa.Column("position", _POSITION, primary_key=True, autoincrement=True, comment="Order of being added."),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("job", sa.String(300), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("ix_seen_starts_job", "seen_starts", ["job", "position"])


def downgrade() -> None:
    """Back to nothing; the record is gone."""
    for table in (
        "seen_starts",
        "watch_notes",
        "cursors",
        "channel_pauses",
        "outbox",
        "inbox",
        "open_tables",
        "journal",
        "incidents",
    ):
        op.drop_table(table)
