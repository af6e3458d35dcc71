"""Which incident is open on which table: of two that are opened at once, the database refuses one."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_FIRST = sa.text("SELECT incident_id, body FROM journal WHERE kind = 'incident-opened'")
_CLOSED = sa.text("SELECT incident_id FROM journal WHERE kind = 'incident-closed'")


def upgrade() -> None:
    """Filled from the journal; where two were open on one table, the newest counts."""
    places = op.create_table(
        "open_tables",
        sa.Column("table_name", sa.String(300), primary_key=True, comment="One open incident a table."),
        sa.Column("number", sa.Integer, nullable=False, comment="The n of wl-n."),
    )
    connection = op.get_bind()
    closed = set(connection.scalars(_CLOSED))
    opened = {int(row.incident_id.removeprefix("wl-")): json.loads(row.body) for row in connection.execute(_FIRST)}
    newest = {body["table"]: number for number, body in sorted(opened.items()) if f"wl-{number}" not in closed}
    if newest:
        op.bulk_insert(places, [{"table_name": table, "number": number} for table, number in newest.items()])


def downgrade() -> None:
    """What is open is in the journal."""
    op.drop_table("open_tables")
