"""Ties what a thread writes into the journal to the delivery that it works on."""

from contextvars import ContextVar

from sqlalchemy import Connection, update

from bot.adapters.journal_sql.tables import INBOX
from bot.domain.errors import CouldNotKeep
from bot.domain.journal import WATERLINE

TIED_TO: ContextVar[tuple[str, str] | None] = ContextVar("tied_to", default=None)
"""Key of the delivery that this thread works on, and the claim by which it was taken."""


def count_with_delivery(connection: Connection, entries: int, by: str) -> None:
    """Say with the entries, in their transaction, whose work they are: after a crash it is not done again.

    What the bot writes on the way, on its own account (the end of a hold, evidence that it collects first), does not
    show that the person's act was carried out, and is not counted.

    Raises CouldNotKeep where the delivery was claimed anew meanwhile, because this process was not heard of for
    seconds: what that claim writes counts, and nothing of this is written.
    """
    tied = TIED_TO.get()
    if tied is None or by == WATERLINE:
        return
    key, claim = tied
    mine = update(INBOX).where(INBOX.c.key == key, INBOX.c.state == "taken", INBOX.c.worker == claim)
    if connection.execute(mine.values(written=INBOX.c.written + entries)).rowcount != 1:
        raise CouldNotKeep(
            "This request is worked on elsewhere by now.",
            "This process was not heard of for some seconds, and what it was doing was taken over.",
            "Nothing was written here; whoever took it over answers.",
        )
