"""The machine's clock."""

from datetime import UTC, datetime


class SystemClock:
    """The time now, aware and in UTC."""

    def now(self) -> datetime:
        """Aware, UTC."""
        return datetime.now(UTC)
