"""Ways in which Slack, the network and people misbehave on demand."""

import asyncio
from contextlib import suppress
from typing import Literal

from pydantic import BaseModel, ConfigDict


class ApiFault(BaseModel):
    """What happens to the next calls of one method, or of any."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["ratelimited", "error", "error-after-effect", "hold"]
    method: str | None = None
    times: int = 1
    error: str = "internal_error"
    retry_after_s: int = 1
    hold_s: float = 0.0


class Faults:
    """The faults that are armed; each is used up by what it spoils."""

    def __init__(self) -> None:
        self._on_api: list[ApiFault] = []
        self.double_clicks = 0
        self.double_deliveries = 0
        self.held_deliveries = 0
        self.refuse_connections = False
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

    def armed(self) -> tuple[ApiFault, ...]:
        return tuple(self._on_api)

    def take_double_click(self) -> bool:
        if self.double_clicks:
            self.double_clicks -= 1
            return True
        return False

    def take_double_delivery(self) -> bool:
        """True when this delivery is to arrive twice."""
        if self.double_deliveries:
            self.double_deliveries -= 1
            return True
        return False

    def take_held_delivery(self) -> bool:
        """True when this delivery is to be held until it is let through."""
        if self.held_deliveries:
            self.held_deliveries -= 1
            return True
        return False

    async def hold(self, seconds: float) -> None:
        """Keep an answer back for so long, or until everything works again."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._disarmed.wait(), seconds)

    def disarm(self) -> None:
        """Everything works again; what is held back goes out."""
        self._disarmed.set()
        self._disarmed = asyncio.Event()
        self._on_api.clear()
        self.double_clicks = self.double_deliveries = self.held_deliveries = 0
        self.refuse_connections = False
        self.revoked.clear()
