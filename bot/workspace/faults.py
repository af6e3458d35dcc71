"""Ways in which Slack, the network and people misbehave on demand."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, ConfigDict

ApiFaultKind = Literal["ratelimited", "error", "error-after-effect", "hold"]
Spoiled = Literal["double-click", "double-delivery", "hold-delivery"]


class ApiFault(BaseModel):
    """What happens to the next calls of one method, or of any."""

    model_config = ConfigDict(frozen=True)

    kind: ApiFaultKind
    method: str | None = None
    times: int = 1
    error: str = "internal_error"
    seconds: float = 1.0
    """Of `ratelimited`, when to ask again; of `hold`, how long the answer is kept back."""


class Faults:
    """The faults that are armed; each is used up by what it spoils."""

    def __init__(self) -> None:
        self._on_api: list[ApiFault] = []
        self.armed = Counter[Spoiled]()
        """How many of the next ones."""
        self.revoked: set[str] = set()
        self._disarmed = asyncio.Event()

    def arm(self, fault: ApiFault) -> None:
        self._on_api.append(fault)

    def next_for(self, method: str) -> ApiFault | None:
        for index, fault in enumerate(self._on_api):
            if fault.method in (None, method):
                if fault.times <= 1:
                    del self._on_api[index]
                else:
                    self._on_api[index] = fault.model_copy(update={"times": fault.times - 1})
                return fault
        return None

    def take(self, what: Spoiled) -> bool:
        """Whether this one is to be spoiled so."""
        is_armed = self.armed[what] > 0
        self.armed[what] -= is_armed
        return is_armed

    async def hold(self, seconds: float) -> None:
        """Keep an answer back for so long, or until everything works again."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._disarmed.wait(), seconds)

    def disarm(self) -> None:
        """Everything works again; what is held back goes out."""
        self._disarmed.set()
        self._disarmed = asyncio.Event()
        self._on_api.clear()
        self.armed.clear()
        self.revoked.clear()
