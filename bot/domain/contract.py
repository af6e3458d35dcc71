"""What the table promises: the columns that let loss, duplicates and lateness be told exactly."""

from datetime import timedelta

from bot.domain.record import Record


class TableContract(Record):
    """Keys and meaning of the columns that evidence relies on. A missing one makes its tasks inconclusive."""

    key: tuple[str, ...]
    """Columns that together name one business fact; two live rows with one key are duplicates."""
    position: str | None = None
    """Column that holds the source position (integer, one more for each record of a source partition)."""
    position_partition: str | None = None
    """Column that holds the source partition, where the source has several."""
    event_time: str | None = None
    redacted: tuple[str, ...] = ()
    """Columns whose values are never shown."""
    commit_every: timedelta | None = None
    """Expected time between commits."""
