"""What the watch has seen, and who wants to hear no more of it."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Nothing was watched before."""
    op.create_table(
        "watch_notes",
        sa.Column(
            "position",
            sa.BigInteger().with_variant(sa.Integer, "sqlite"),
            primary_key=True,
            autoincrement=True,
            comment="Order of being added.",
        ),
        sa.Column("key", sa.String(300), nullable=False, unique=True),
        sa.Column("table_name", sa.String(300), nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_index("ix_watch_notes_table_name", "watch_notes", ["table_name"])


def downgrade() -> None:
    """What was seen is seen again."""
    op.drop_table("watch_notes")
