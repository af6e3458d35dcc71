"""What Slack delivered and is not yet worked on. A row is there before Slack hears that it arrived."""

from datetime import datetime, timedelta

from sqlalchemy import Engine, and_, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from bot.adapters.journal_sql.tables import INBOX
from bot.ports import Delivery

ABANDONED_AFTER = timedelta(minutes=5)
"""A delivery taken so long ago is given to the next worker: its own has died."""


class SqlInbox:
    """The port `Inbox` on a SQL database. `worker` names this process; its next start has the same name."""

    def __init__(self, engine: Engine, worker: str) -> None:
        self._engine = engine
        self._worker = worker

    def put(self, delivery: Delivery) -> bool:
        """Store it; False if this key is known already, worked on or not."""
        row = {
            "key": delivery.key,
            "kind": delivery.kind,
            "payload": delivery.payload,
            "received_at": delivery.received_at,
            "state": "waiting",
            "attempts": delivery.attempts,
        }
        try:
            with self._engine.begin() as connection:
                connection.execute(insert(INBOX).values(row))
        except IntegrityError:
            return False
        return True

    def claim(self, now: datetime) -> Delivery | None:
        """The oldest delivery that nobody works on. Rows that another replica is just taking are passed over."""
        free = or_(
            INBOX.c.state == "waiting",
            and_(INBOX.c.state == "taken", INBOX.c.taken_at <= now - ABANDONED_AFTER),
        )
        oldest = (
            select(INBOX)
            .where(free)
            .order_by(INBOX.c.received_at, INBOX.c.key)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        with self._engine.begin() as connection:
            row = connection.execute(oldest).first()
            if row is None:
                return None
            connection.execute(
                update(INBOX)
                .where(INBOX.c.key == row.key)
                .values(state="taken", taken_at=now, worker=self._worker, attempts=row.attempts + 1)
            )
        return Delivery(
            key=row.key,
            kind=row.kind,
            payload=row.payload,
            received_at=row.received_at,
            attempts=row.attempts + 1,
        )

    def done(self, key: str, problem: str | None = None) -> None:
        """It was worked on. The key stays, so that a late redelivery is known; the payload, which holds
        Slack's short-lived tokens, stays only where there was a problem."""
        values = {"state": "done", "problem": problem}
        if problem is None:
            values["payload"] = ""
        with self._engine.begin() as connection:
            connection.execute(update(INBOX).where(INBOX.c.key == key).values(values))

    def release_all(self) -> int:
        """Give back what an earlier process of this name had taken. Returns how many."""
        with self._engine.begin() as connection:
            released = connection.execute(
                update(INBOX)
                .where(INBOX.c.state == "taken", INBOX.c.worker == self._worker)
                .values(state="waiting", taken_at=None, worker=None)
            )
        return released.rowcount
