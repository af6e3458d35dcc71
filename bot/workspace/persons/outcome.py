"""What came of something that a person did."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from bot.workspace.delivery import Ack

PersonOutcome = Literal["done", "acked", "timed-out", "unreachable", "refused", "invalid", "cancelled"]


class Outcome(BaseModel):
    """What the person's client knows after an act: whether the app acknowledged, how fast, what it objected to."""

    model_config = ConfigDict(frozen=True)

    outcome: PersonOutcome
    took_ms: float = 0.0
    errors: dict[str, str] = {}
    ts: str | None = None

    @classmethod
    def of(cls, ack: Ack) -> "Outcome":
        """The outcome of a delivery."""
        return cls(outcome=ack.outcome, took_ms=ack.took_ms)
