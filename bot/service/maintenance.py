"""Freeze and thaw of a table's maintenance beside any proposal: at once by a responder, and back at the end."""

from bot.actions._effects.kind import NO_SCHEDULERS
from bot.actions._maintenance import as_before, freeze_change, frozen_by, is_frozen, thaw_change
from bot.actions._marking import commit_marks
from bot.domain.entries import Body, MaintenanceMarked
from bot.domain.errors import CommitRefused, CouldNotLook, Refused
from bot.domain.execution import UNFINISHED, ProposalState
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.settling import HOW_TO_SETTLE
from bot.ports import Schedulers, TableCatalog
from bot.service.incident_store import IncidentStore, must_be_in_charge, must_be_open


class Maintenance:
    """Everything may be done twice: the sign on the table tells what is done."""

    def __init__(self, store: IncidentStore, catalog: TableCatalog, schedulers: Schedulers = NO_SCHEDULERS) -> None:
        self._store = store
        self._catalog = catalog
        self._schedulers = schedulers

    def freeze(self, incident_id: IncidentId, *, by: str) -> str:
        """Stop expiry and orphan removal now; the answer for whoever asked. Raises Refused, CommitRefused,
        OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        must_be_open(incident)
        table = incident.opened.table
        if is_frozen(state := self._catalog.load(table)) and frozen_by(state) is None:
            return f"Maintenance of {table} was frozen already, by hand."
        if not incident.is_frozen:
            self._note(incident_id, by, "freezing", "Expiry and orphan removal of the table are to be stopped.")
        paused = self._schedulers.pause(table)
        try:
            is_new = commit_marks(self._catalog, table, lambda state: freeze_change(state, incident_id)) is not None
        except (CommitRefused, CouldNotLook) as error:
            if not incident.is_frozen:
                self._schedulers.resume(table)
                self._note(incident_id, by, "thawed", f"Maintenance was not frozen: {error.happened}")
            raise
        if not is_new and incident.is_frozen and not _was_cut_off(incident):
            return f"Maintenance of {table} was frozen already, by {incident_id}."
        stopped = "Expiry and orphan removal of the table are stopped (gc.enabled=false)."
        self._note(incident_id, by, "frozen", " ".join([stopped, *paused]))
        frozen = f"Maintenance of {table} is frozen until {incident_id} is closed, or until somebody types thaw."
        return " ".join([frozen, *paused])

    def thaw(self, incident_id: IncidentId, *, by: str) -> str:
        """Set back what was there before; the answer for whoever asked. Raises Refused while a proposal is at work
        and for whoever is not in charge, CommitRefused, OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        must_be_in_charge(incident, by, "thaw its table")
        busy = next((v for v in incident.proposals.values() if v.state in UNFINISHED), None)
        if busy is not None:
            raise Refused(
                f"Maintenance stays frozen while “{busy.proposal.title}” is {busy.state.value}.",
                "Expected no proposal that is undecided or under way: expiry could take what it goes back to.",
                HOW_TO_SETTLE if busy.state is ProposalState.UNKNOWN else "Wait for its end, or reject it.",
            )
        return self._thaw(incident, by)

    def thaw_if_over(self, incident_id: IncidentId) -> None:
        """The duty of the end: late rather than lost."""
        incident = self._store.get(incident_id)
        if incident.is_frozen and not incident.is_open:
            self._thaw(incident, WATERLINE)

    def _thaw(self, incident: Incident, by: str) -> str:
        table = incident.opened.table
        state = self._catalog.load(table)
        if frozen_by(state) not in (None, incident.id):
            said = f"Maintenance of the table stays frozen: {frozen_by(state)} has frozen it."
        else:
            if incident.is_frozen or is_frozen(state):
                self._schedulers.resume(table)
            said = "Maintenance of the table had been taken out of its freeze already."
            if commit_marks(self._catalog, table, thaw_change) is not None:
                said = f"Maintenance of the table is out of its freeze: {as_before(state)}."
        if incident.is_frozen:
            self._note(incident.id, by, "thawed", said)
        return said

    def _note(self, incident_id: IncidentId, by: str, status: str, sentence: str) -> None:
        body = MaintenanceMarked.model_validate({"status": status, "sentence": sentence})

        def decide(now: Incident) -> list[Body]:
            return [] if status != "frozen" and now.is_frozen == (status == "freezing") else [body]

        self._store.write(incident_id, by=by, decide=decide)


def _was_cut_off(incident: Incident) -> bool:
    marks = [entry.body for entry in incident.entries if isinstance(entry.body, MaintenanceMarked)]
    return bool(marks) and marks[-1].status == "freezing"
