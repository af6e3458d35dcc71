"""How many journal entries each delivery has led to, so that work on it that was cut short is not repeated."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Deliveries from before count as not begun; their payloads are worked on as they always were."""
    counted = sa.Column(
        "written",
        sa.Integer,
        nullable=False,
        server_default="0",
        comment="Entries that work on it has added to the journal.",
    )
    with op.batch_alter_table("inbox") as inbox:
        inbox.add_column(counted)
    with op.batch_alter_table("inbox") as inbox:
        inbox.alter_column("written", server_default=None)


def downgrade() -> None:
    """The counts are gone; nothing else."""
    with op.batch_alter_table("inbox") as inbox:
        inbox.drop_column("written")
