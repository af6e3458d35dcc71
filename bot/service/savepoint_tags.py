"""Takes away the tag of a kept savepoint when its day has passed; never while an incident is open on the table.

Not left to Iceberg's own `max-ref-age-ms`: Spark's expiry obeys it also during an incident, PyIceberg's never does.
"""

from datetime import datetime
from typing import Literal

from bot.actions._marking import commit_marks
from bot.domain.entries import Body, SavepointReleased, SavepointReleasing
from bot.domain.ids import IncidentId, SnapshotId, TableName
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.savepoints import KeptSavepoint, still_tagged
from bot.domain.table import TableState
from bot.ports import Clock, TableCatalog, TableChange
from bot.service.incident_store import IncidentStore

_How = Literal["removed", "gone", "elsewhere"]


class SavepointTags:
    """Everything may be done twice, by any replica: the tag itself tells what is done."""

    def __init__(self, store: IncidentStore, catalog: TableCatalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    def are_due(self, incident: Incident) -> bool:
        """Whether a savepoint of this incident has passed its day, and nothing on its table is open."""
        return any(not self._is_questioned(kept.table) for kept in _past(incident, self._clock.now()))

    def release(self, incident_id: IncidentId) -> None:
        """Remove the tags that are due, each with an entry. Raises CommitRefused, OutcomeUnknown, CouldNotLook,
        UnknownTable: then the tag stands, and it is tried again."""
        for kept in _past(self._store.get(incident_id), self._clock.now()):
            how = self._removed(incident_id, kept)
            if how is not None:
                self._note(incident_id, kept, how)

    def _removed(self, incident_id: IncidentId, kept: KeptSavepoint) -> _How | None:
        """What became of the tag; None while an incident is open, which is asked again before each try.

        The intent is written right before the commit: whoever finds the tag missing afterwards knows whose deed it
        was, also when a crash kept the end from the record, or another replica was first.
        """
        snapshot = SnapshotId(int(kept.snapshot))

        def change(table: TableState) -> TableChange | None:
            if self._is_questioned(kept.table) or table.ref(kept.tag) != snapshot:
                return None
            self._intend(incident_id, kept)
            return TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                expected_refs={kept.tag: snapshot},
                remove_refs=(kept.tag,),
            )

        if commit_marks(self._catalog, kept.table, change) is not None:
            return "removed"
        stands = self._catalog.load(kept.table).ref(kept.tag)
        if stands is None:
            return "removed" if kept.proposal in self._store.get(incident_id).releasing else "gone"
        return None if stands == snapshot else "elsewhere"

    def _is_questioned(self, table: TableName) -> bool:
        return self._store.open_on(table) is not None

    def _intend(self, incident_id: IncidentId, kept: KeptSavepoint) -> None:
        body = SavepointReleasing(proposal=kept.proposal, tag=kept.tag, snapshot=kept.snapshot)

        def decide(now: Incident) -> list[Body]:
            return [] if kept.proposal in now.releasing else [body]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _note(self, incident_id: IncidentId, kept: KeptSavepoint, how: _How) -> None:
        body = SavepointReleased(proposal=kept.proposal, tag=kept.tag, snapshot=kept.snapshot, how=how)

        def decide(now: Incident) -> list[Body]:
            return [] if kept.proposal in now.released else [body]

        self._store.write(incident_id, by=WATERLINE, decide=decide)


def _past(incident: Incident, now: datetime) -> tuple[KeptSavepoint, ...]:
    return tuple(kept for kept in still_tagged(incident) if kept.until <= now)
