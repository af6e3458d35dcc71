"""One thing Slack delivers to the app, and what came of it."""

from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

from bot.workspace.payload import Payload

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
    """How the app answered a delivery."""

    model_config = ConfigDict(frozen=True)

    outcome: AckOutcome
    took_ms: float = 0.0
    payload: Payload | None = None
    no_retry: bool = False
    detail: str = ""

    @property
    def in_time(self) -> bool:
        """True when the app acknowledged within Slack's limit."""
        return self.outcome == "acked"


class Carrier(Protocol):
    """A way to the app: Socket Mode or signed HTTP."""

    async def carry(self, delivery: Delivery, within_s: float) -> Ack:
        """Bring one delivery to the app and wait at most `within_s` seconds for its answer."""
        ...
