"""Everything that passed the wire, in order: Web API calls, deliveries, acknowledgements, response URLs, faults."""

import itertools
from collections import deque
from collections.abc import Callable
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.workspace.clock import WorkspaceClock
from bot.workspace.payload import Payload

Kind = Literal["api", "delivery", "ack", "response-url", "socket", "fault", "person"]


class WireEntry(BaseModel):
    """One thing that passed between the app, Slack and a person."""

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
        """Keep one entry and show it to whoever watches."""
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

    def jsonl(self) -> str:
        """All kept entries, one JSON object a line."""
        return "".join(entry.model_dump_json() + "\n" for entry in tuple(self._entries))
