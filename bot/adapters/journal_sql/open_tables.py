"""One open incident a table, decided by the database."""

from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select

from bot.adapters.journal_sql.tables import OPEN_TABLES
from bot.domain.entries import Body, IncidentClosed, IncidentOpened
from bot.domain.errors import Refused


def take(connection: Connection, opened: IncidentOpened, number: int) -> None:
    """The table is this incident's until it is closed. Raises Refused if it is another one's; of two at the same
    moment the second meets the primary key, and finds the first when it tries again."""
    holder = connection.scalar(select(OPEN_TABLES.c.number).where(OPEN_TABLES.c.table_name == opened.table))
    if holder is not None:
        raise Refused(
            f"Incident wl-{holder} is open on {opened.table} already.",
            "Expected no open incident there; somebody else was first.",
            "Go on there.",
        )
    connection.execute(insert(OPEN_TABLES).values(table_name=opened.table, number=number))


def free(connection: Connection, number: int, bodies: Iterable[Body]) -> None:
    """When the incident ends, another one may be opened on its table."""
    if any(isinstance(body, IncidentClosed) for body in bodies):
        connection.execute(delete(OPEN_TABLES).where(OPEN_TABLES.c.number == number))
