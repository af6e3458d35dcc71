"""The machine's clock: by itself, because the gateway opens before a scheduler is imported."""

from datetime import UTC, datetime


class SystemClock:
    """The time now, aware and in UTC."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.now(UTC)
