"""What workers had taken, given back when they no longer live."""

from collections.abc import Collection

from sqlalchemy import Column, ColumnElement, Engine, or_, select, true, union, update

from bot.adapters.journal_sql.engine import reading, writing
from bot.adapters.journal_sql.tables import INBOX, OUTBOX


def takers(engine: Engine) -> frozenset[str]:
    """The claim of everything that is taken now."""
    named = union(
        select(INBOX.c.worker).where(INBOX.c.state == "taken"),
        select(OUTBOX.c.worker).where(OUTBOX.c.state == "sending"),
    )
    with reading(engine) as connection:
        return frozenset(str(worker) for worker in connection.scalars(named))


def give_back(engine: Engine, workers: Collection[str] | None) -> None:
    """Free what these workers have taken, or what was taken by these very claims; None: whoever has.

    A delivery is then worked on anew, unless it has written into the journal. A post may have arrived: who sends it
    next sees by its tries that it was on its way, and looks for it first.
    """
    with writing(engine) as connection:
        connection.execute(
            update(INBOX)
            .where(INBOX.c.state == "taken", _is_of(INBOX.c.worker, workers))
            .values(state="waiting", taken_at=None, worker=None)
        )
        connection.execute(
            update(OUTBOX)
            .where(OUTBOX.c.state == "sending", _is_of(OUTBOX.c.worker, workers))
            .values(state="queued", due_at=None, worker=None, problem="interrupted")
        )


def _is_of(column: Column[str], workers: Collection[str] | None) -> ColumnElement[bool]:
    if workers is None:
        return true()
    return or_(column.in_(workers), *(column.startswith(f"{worker}/", autoescape=True) for worker in workers))
