"""What passes the wire: deliveries and what came of them, handles of interactions, and the log of all of it."""

import itertools
import secrets
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from bot.workspace.clock import Rules, WorkspaceClock
from bot.workspace.people import Payload, SlackRefusal

Kind = Literal["api", "delivery", "ack", "socket"]


class WireEntry(BaseModel):
    model_config = ConfigDict(frozen=True)

    seq: int
    at: datetime
    kind: Kind
    name: str
    ok: bool = True
    error: str | None = None
    took_ms: float | None = None
    sent: Payload = {}
    answered: Payload = {}


class WireLog:
    """The list of entries; the oldest are forgotten after `keep`."""

    def __init__(self, clock: WorkspaceClock, keep: int = 50_000) -> None:
        self._clock = clock
        self._numbers = itertools.count(1)
        self._entries: deque[WireEntry] = deque(maxlen=keep)
        self._watchers: list[Callable[[WireEntry], None]] = []

    def add(
        self,
        kind: Kind,
        name: str,
        *,
        error: str | None = None,
        took_ms: float | None = None,
        sent: Payload | None = None,
        answered: Payload | None = None,
    ) -> WireEntry:
        entry = WireEntry(
            seq=next(self._numbers),
            at=self._clock.now(),
            kind=kind,
            name=name,
            ok=error is None,
            error=error,
            took_ms=took_ms,
            sent=sent or {},
            answered=answered or {},
        )
        self._entries.append(entry)
        for watcher in self._watchers:
            watcher(entry)
        return entry

    def watch(self, watcher: Callable[[WireEntry], None]) -> None:
        """Call `watcher` with each entry from now on."""
        self._watchers.append(watcher)

    def entries(self, kind: Kind | None = None, name: str | None = None) -> tuple[WireEntry, ...]:
        """All kept entries, oldest first, of that kind and name if given."""
        return tuple(
            entry
            for entry in tuple(self._entries)
            if (kind is None or entry.kind == kind) and (name is None or entry.name == name)
        )


DeliveryKind = Literal["slash_commands", "interactive", "events_api"]
AckOutcome = Literal["acked", "timed-out", "unreachable", "refused"]


class Delivery(BaseModel):
    """A slash command, an interaction or an event on its way to the app."""

    model_config = ConfigDict(frozen=True)

    kind: DeliveryKind
    payload: Payload
    retry_attempt: int = 0
    retry_reason: str | None = None

    @property
    def name(self) -> str:
        """What the wire log calls it: the command, the interaction's type or the event's type."""
        if self.kind == "events_api":
            return f"event {self.payload['event']['type']}"
        return str(self.payload.get("command") or self.payload.get("type") or self.kind)


class Ack(BaseModel):
    model_config = ConfigDict(frozen=True)

    outcome: AckOutcome
    took_ms: float = 0.0
    payload: Payload | None = None
    detail: str = ""

    @property
    def in_time(self) -> bool:
        return self.outcome == "acked"


class Carrier(Protocol):
    """A way to the app: Socket Mode or signed HTTP."""

    async def carry(self, delivery: Delivery, within_s: float) -> Ack:
        """Bring one delivery to the app and wait at most `within_s` seconds for its answer."""
        ...


class Trigger(BaseModel):
    """Whose interaction it was and when; good for one modal."""

    model_config = ConfigDict(frozen=True)

    person: str
    issued_s: float
    used: bool = False


class Handles:
    def __init__(self, clock: WorkspaceClock, team_id: str) -> None:
        self._clock = clock
        self._team = team_id
        self._triggers: dict[str, Trigger] = {}

    def new_trigger(self, person: str) -> str:
        issued = self._clock.seconds()
        trigger_id = f"{int(issued * 1000)}.{self._team}.{secrets.token_hex(16)}"
        self._triggers[trigger_id] = Trigger(person=person, issued_s=issued)
        return trigger_id

    def redeem_trigger(self, trigger_id: str, rules: Rules) -> str:
        """Whose trigger it is; refuses one that is unknown, used or too old."""
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise SlackRefusal("invalid_trigger_id")
        if trigger.used:
            raise SlackRefusal("exchanged_trigger_id")
        if self._clock.seconds() - trigger.issued_s > rules.trigger_s:
            raise SlackRefusal("expired_trigger_id")
        self._triggers[trigger_id] = trigger.model_copy(update={"used": True})
        return trigger.person
