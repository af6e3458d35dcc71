"""Who has a table in doubt beside one incident, as trust is judged: by the record, and by what the watch keeps."""

from bot.domain.beside import Beside, beside
from bot.domain.incident import Incident
from bot.service.incident_store import IncidentStore
from bot.service.sightings import WatchFindings


class OtherDoubts:
    """Reads the record; the catalog is not asked."""

    def __init__(self, store: IncidentStore, findings: WatchFindings | None) -> None:
        """`findings` None: nothing is watched."""
        self._store = store
        self._findings = findings

    def of(self, incident: Incident) -> Beside:
        """What holds now. Raises CouldNotLook. Cost: one query for all incidents, and one for what the watch keeps."""
        table = incident.opened.table
        theirs = tuple(each for each in self._store.all() if each.opened.table == table)
        return beside(incident, theirs, self._findings.of(table, theirs) if self._findings is not None else ())
