"""All tables, as `schema.METADATA` has them while nothing has been released; with the first release they are written
out here, and every later change is a migration of its own."""

from alembic import op

from bot.adapters.journal_sql.schema import METADATA

revision = "0001"
down_revision = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind())
