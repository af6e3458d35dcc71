"""What Slack delivered and is not yet worked on. A row is there before Slack hears that it arrived."""

import json
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Any

from sqlalchemy import Engine, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from bot.adapters.journal_sql.engine import scalar, write, writing
from bot.adapters.journal_sql.journal import TIED_TO
from bot.adapters.journal_sql.membership import Presence
from bot.adapters.journal_sql.schema import INBOX
from bot.observation.masking import MASK, Masking
from bot.ports import Delivery

_FIELDS = ("key", "kind", "payload", "received_at", "attempts", "written")
_OFTEN = 3
_CAPABILITY = re.compile(r'("(?:token|response_url)": ?")[^"]+')
"""What Slack sends along and this bot does not use: whoever has it can speak in the channel for half an hour."""


class SqlInbox:
    """The port `Inbox` on a SQL database; no secret is written."""

    def __init__(self, engine: Engine, presence: Presence, masking: Masking) -> None:
        self._engine = engine
        self._presence = presence
        self._masking = masking
        self._arrived: deque[_Waiting] = deque()
        self._committing = Lock()
        self._claiming = Lock()

    def put(self, delivery: Delivery) -> bool:
        """Store it; False if this key is known already, worked on or not.

        Deliveries that arrive while another is being committed share the next commit: a burst of clicks
        costs a few waits for the disk and not one each. A commit that fails is tried again by each of them.
        """
        masked = json.dumps(self._masking.of(json.loads(delivery.payload)))  # as one text, JSON's own quotes would go
        waiting = _Waiting(delivery.model_copy(update={"payload": _CAPABILITY.sub(rf"\g<1>{MASK}", masked)}))
        self._arrived.append(waiting)
        with self._committing:
            if waiting.is_new is None:
                others = [self._arrived.popleft() for _ in range(len(self._arrived))]
                self._commit(others if waiting in others else [waiting, *others])
        return bool(waiting.is_new)

    def _commit(self, together: list["_Waiting"], tries: int = 3) -> None:
        new: dict[str, _Waiting] = {}
        for each in together:
            new.setdefault(each.delivery.key, each)
        try:
            with writing(self._engine) as connection:
                for known in connection.scalars(select(INBOX.c.key).where(INBOX.c.key.in_(list(new)))):
                    del new[known]
                if new:
                    connection.execute(insert(INBOX), [_row(each.delivery) for each in new.values()])
        except IntegrityError:  # another process has stored one of these keys at the same moment
            if tries == 1:
                raise
            self._commit(together, tries - 1)
            return
        for each in together:
            each.is_new = new.get(each.delivery.key) is each

    def waits_since(self) -> datetime | None:
        waiting = select(func.min(INBOX.c.received_at)).where(INBOX.c.state != "done")
        oldest: datetime | None = scalar(self._engine, waiting)
        return oldest

    def claim(self, now: datetime) -> Delivery | None:
        """The oldest delivery that nobody works on; after all others one that was begun often, which may be what ends
        the process."""
        self._presence.join()
        with self._claiming, self._presence.hands.reaching() as claim:
            delivery = self._taken(now, claim)
            if delivery is None:
                self._presence.hands.lets_go(claim)
            return delivery

    def _taken(self, now: datetime, claim: str) -> Delivery | None:
        oldest = (
            select(INBOX)
            .where(INBOX.c.state == "waiting")
            .order_by(INBOX.c.attempts > _OFTEN, INBOX.c.received_at, INBOX.c.key)
            .limit(1)
        )
        with writing(self._engine) as connection:
            row = connection.execute(oldest).first()
            if row is None:
                return None
            is_waiting = (INBOX.c.key == row.key) & (INBOX.c.state == "waiting")
            taken = {"state": "taken", "taken_at": now, "worker": claim, "attempts": row.attempts + 1}
            if connection.execute(update(INBOX).where(is_waiting).values(taken)).rowcount != 1:
                return None  # another process has just become the one that works on the record
        return Delivery(
            key=row.key,
            kind=row.kind,
            payload=row.payload,
            received_at=row.received_at,
            attempts=row.attempts + 1,
            written=row.written,
            claim=claim,
        )

    @contextmanager
    def tied(self, delivery: Delivery) -> Iterator[None]:
        """What this thread adds to the journal in the block in a person's name is counted with the delivery, in one
        transaction."""
        before = TIED_TO.set((delivery.key, delivery.claim))
        try:
            yield
        finally:
            TIED_TO.reset(before)

    def give_back(self, delivery: Delivery, *, was_tried: bool) -> None:
        """It could not be worked on to its end: somebody does it later. `was_tried`: it counts as an attempt. What
        was claimed anew meanwhile stays with that claim."""
        tries = INBOX.c.attempts if was_tried else INBOX.c.attempts - 1
        ours = update(INBOX).where(
            INBOX.c.key == delivery.key, INBOX.c.state == "taken", INBOX.c.worker == delivery.claim
        )
        write(self._engine, ours.values(state="waiting", taken_at=None, worker=None, attempts=tries))
        self._presence.hands.lets_go(delivery.claim)

    def done(self, delivery: Delivery, problem: str | None = None) -> None:
        """It was worked on. The key stays, so that a late redelivery is known; the payload, which holds
        Slack's short-lived tokens, stays only where there was a problem. Not what was claimed anew meanwhile.
        """
        ours = or_(INBOX.c.state != "taken", INBOX.c.worker == delivery.claim)
        values = {"state": "done", "problem": problem and self._masking.text(problem)}
        if problem is None:
            values["payload"] = ""
        write(self._engine, update(INBOX).where(INBOX.c.key == delivery.key, ours).values(values))
        self._presence.hands.lets_go(delivery.claim)


@dataclass(eq=False)
class _Waiting:
    """A delivery on its way into a commit; `is_new` is None until that has ended."""

    delivery: Delivery
    is_new: bool | None = None


def _row(delivery: Delivery) -> dict[str, Any]:
    return {"state": "waiting", **{name: getattr(delivery, name) for name in _FIELDS}}
