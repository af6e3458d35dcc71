"""Ties what a thread writes into the journal to the delivery that it works on."""

from contextvars import ContextVar

from sqlalchemy import Connection, update

from bot.adapters.journal_sql.tables import INBOX

TIED_TO: ContextVar[str | None] = ContextVar("tied_to", default=None)
"""Key of the delivery that this thread works on."""


def count_with_delivery(connection: Connection, entries: int) -> None:
    """Say with the entries, in their transaction, whose work they are: after a crash it is not done again."""
    key = TIED_TO.get()
    if key is not None:
        connection.execute(update(INBOX).where(INBOX.c.key == key).values(written=INBOX.c.written + entries))
