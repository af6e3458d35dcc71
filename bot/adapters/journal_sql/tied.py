"""Ties what a thread writes into the journal to the delivery that it works on."""

from contextvars import ContextVar

from sqlalchemy import Connection, update

from bot.adapters.journal_sql.tables import INBOX
from bot.domain.journal import WATERLINE

TIED_TO: ContextVar[str | None] = ContextVar("tied_to", default=None)
"""Key of the delivery that this thread works on."""


def count_with_delivery(connection: Connection, entries: int, by: str) -> None:
    """Say with the entries, in their transaction, whose work they are: after a crash it is not done again.

    What the bot writes on the way, on its own account (the end of a hold, evidence that it collects first), does not
    show that the person's act was carried out, and is not counted.
    """
    key = TIED_TO.get()
    if key is not None and by != WATERLINE:
        connection.execute(update(INBOX).where(INBOX.c.key == key).values(written=INBOX.c.written + entries))
