"""Which commits an incident should look at first, and which snapshot to pin consumers to meanwhile."""

from bot.domain.ids import SnapshotId
from bot.domain.record import Record
from bot.domain.table import Window


class Suspicion(Record):
    """A window to open an incident with. Metadata only: evidence has yet to look."""

    window: Window
    trusted: SnapshotId | None
    """The newest snapshot below the suspected fault; None when the fault reaches below all that is listed."""
    because: str
    """One sentence, with ids."""
