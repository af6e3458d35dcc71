"""Moves the waterline: tag and property in one commit, so that any engine can read the trusted state."""

from bot.domain.entries import Body, NoteAdded, WaterlineMoved
from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.ids import IncidentId, SnapshotId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.lowering import lowered, owed_mark
from bot.domain.waterline import owed_waterline
from bot.ports import Clock, TableCatalog, TableChange
from bot.service.incident_store import IncidentStore

TAG = "waterline"
_ATTEMPTS = 8


class Waterline:
    """Keeps the table's tag and properties in step with the incident."""

    def __init__(self, store: IncidentStore, catalog: TableCatalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

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
        if (only_back and not is_trusted) or (is_trusted and owed_waterline(incident) is None):
            return
        owed = owed_mark(incident, self._catalog.load(incident.opened.table))
        if owed is not None and not (only_back and owed.status == "trusted"):
            self.move(incident_id, owed)

    def move(self, incident_id: IncidentId, body: WaterlineMoved) -> None:
        """Put tag and properties there, once."""
        incident = self._store.get(incident_id)
        if incident.waterline == body:
            return
        self._commit(incident, body.snapshot, body.status)

        def decide(now: Incident) -> list[Body]:
            return [] if now.waterline == body else [body]

        self._store.write(incident.id, by=WATERLINE, decide=decide)

    def keep(self, incident_id: IncidentId) -> None:
        """Put back what somebody took off the table while the incident is open, and note it. Never beside `move`."""
        incident = self._store.get(incident_id)
        mark = incident.waterline
        if mark is not None and incident.is_open and self._commit(incident, mark.snapshot, mark.status):
            note = NoteAdded(text="Somebody changed the table's tag or property. Waterline set both again.")
            self._store.write(incident_id, by=WATERLINE, decide=lambda _now: [note])

    def _commit(self, incident: Incident, snapshot: SnapshotId | None, status: str) -> bool:
        """One commit of tag and properties; False where they stood there already. A refused one surely did nothing and
        is tried again, a few times: a streaming writer commits all the time, and this change does not care how far it
        has come. Where no snapshot can be named, the tag goes: whoever reads by it would read on what is doubted."""
        for attempt in range(_ATTEMPTS):
            table = self._catalog.load(incident.opened.table)
            is_listed = snapshot is not None and snapshot in table.by_id
            is_doubt_alone = status == "under-review" and not is_listed  # none is known, or it has expired
            stands = table.ref(TAG) == (None if is_doubt_alone else snapshot)
            already = stands and table.properties.get("waterline.status") == status
            if already and table.properties.get("waterline.incident") == incident.id:
                return False
            change = TableChange(
                expected_uuid=table.uuid,
                expected_head=None,
                set_tags={} if is_doubt_alone or snapshot is None else {TAG: snapshot},
                remove_refs=(TAG,) if is_doubt_alone else (),
                set_properties={
                    "waterline.status": status,
                    "waterline.incident": incident.id,
                    "waterline.since": self._clock.now().isoformat(timespec="seconds"),
                },
            )
            try:
                self._catalog.commit(incident.opened.table, change)
            except (CommitRefused, CouldNotLook):
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            return True
        raise AssertionError("the last attempt raises")
