"""What the watch has found and nobody has looked into, for whoever tells trust: also for processes without a watch."""

from collections.abc import Collection, Sequence

from bot.domain.ids import TableName
from bot.domain.incident import Incident
from bot.domain.open_findings import open_findings
from bot.domain.watch import Sighted, recall
from bot.ports import WatchNotes


class WatchFindings:
    """Reads what the watch keeps. Of a table that it does not follow (any more) nothing is told: nobody would see that
    it is over."""

    def __init__(self, notes: WatchNotes, followed: Collection[TableName]) -> None:
        self._notes = notes
        self._followed = frozenset(followed)

    def of(self, table: TableName, incidents: Sequence[Incident]) -> tuple[Sighted, ...]:
        """See `open_findings`; `incidents`: those of this table. Raises CouldNotLook. Cost: one query."""
        if table not in self._followed:
            return ()
        return open_findings(recall(self._notes.of(table)), incidents)
