"""The machine's clock: by itself, because the gateway opens before a scheduler is imported."""

from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)
