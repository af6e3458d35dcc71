"""Moves the waterline: tag and property in one commit, so that any engine can read the trusted state."""

from dataclasses import dataclass
from typing import Literal

from bot.actions._support.maintenance import commit_marks
from bot.incident.entries import NoteAdded, WaterlineMoved
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.lowering import due_mark, lowered
from bot.incident.waterline import due_waterline
from bot.observation.ids import IncidentId, SnapshotId
from bot.observation.table import TableState
from bot.ports import Clock, TableCatalog, TableChange
from bot.service.incident_store import IncidentStore

TAG = "waterline"
Mark = Literal["tag", "property", "none"]


@dataclass(eq=False)
class Waterline:
    """Keeps the table's tag and properties in step with the incident."""

    _store: IncidentStore
    _catalog: TableCatalog
    _clock: Clock
    _mark: Mark = "tag"
    """`property`: by properties alone, for catalogs whose own maintenance a tag stops; `none`: the record alone tells,
    and the table carries nothing."""

    def under_review(self, incident_id: IncidentId) -> None:
        """Put the tag on the newest snapshot that is believed good and say that everything above it is under review:
        the whole table where no snapshot is known to be good."""
        incident = self._store.get(incident_id)
        table = self._catalog.load(incident.opened.table)
        good = lowered(incident, table, incident.opened.trusted)
        self.move(incident_id, WaterlineMoved(snapshot=good, status="under-review"))

    def trusted(self, incident_id: IncidentId, snapshot: SnapshotId) -> None:
        """Say that the table is trusted up to `snapshot`."""
        self.move(incident_id, WaterlineMoved(snapshot=snapshot, status="trusted"))

    def follow(self, incident_id: IncidentId, *, only_back: bool = False) -> None:
        """Put the mark where the record asks for it. `only_back`: only under review; where it is that already, nothing
        is looked at, and how far down it belongs is found by the next full one. Cost: what `move` costs, and while the
        table is under review one call of the catalog, unless `only_back`."""
        incident = self._store.get(incident_id)
        is_trusted = incident.waterline is None or incident.waterline.status == "trusted"
        if (only_back and not is_trusted) or (is_trusted and due_waterline(incident) is None):
            return
        owed = due_mark(incident, self._catalog.load(incident.opened.table))
        if owed is not None and not (only_back and owed.status == "trusted"):
            self.move(incident_id, owed)

    def move(self, incident_id: IncidentId, body: WaterlineMoved) -> None:
        """Put tag and properties there, once."""
        incident = self._store.get(incident_id)
        if incident.waterline == body:
            return
        self._commit(incident, body.snapshot, body.status)
        self._store.append_if(incident.id, [body], lambda now: now.waterline != body)

    def keep(self, incident_id: IncidentId) -> None:
        """Put back what somebody took off the table while the incident is open, and note it. Never beside `move`."""
        incident = self._store.get(incident_id)
        mark = incident.waterline
        if mark is not None and incident.is_open and self._commit(incident, mark.snapshot, mark.status):
            note = NoteAdded(text="Somebody changed the table's tag or property. Waterline set both again.")
            self._store.write(incident_id, by=WATERLINE, decide=lambda _now: [note])

    def _commit(self, incident: Incident, snapshot: SnapshotId | None, status: str) -> bool:
        """One commit of tag and properties; False where they stood there already, or none are wanted. Where no snapshot
        can be named, the tag goes: whoever reads by it would read on what is doubted."""
        if self._mark == "none":
            return False

        def change(table: TableState) -> TableChange | None:
            is_listed = snapshot is not None and snapshot in table.by_id
            is_doubt_alone = status == "under-review" and not is_listed  # none is known, or it has expired
            wanted = None if is_doubt_alone else snapshot
            properties = {"waterline.status": status, "waterline.incident": incident.id}
            if self._mark == "property":
                properties["waterline.snapshot"] = "" if wanted is None else str(wanted)
            tagged = wanted if self._mark == "tag" else None
            if table.ref(TAG) == tagged and properties.items() <= table.properties.items():
                return None
            return TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                set_tags={} if tagged is None else {TAG: tagged},
                remove_refs=(TAG,) if tagged is None else (),
                set_properties={
                    **properties,
                    "waterline.since": self._clock.now().isoformat(timespec="seconds"),
                },
            )

        return commit_marks(self._catalog, incident.opened.table, change) is not None
