"""Freeze and unfreeze of a table's maintenance beside any proposal: at once by a responder, and back at the end."""

from dataclasses import dataclass
from typing import Literal

from bot.actions._support.maintenance import (
    as_before,
    commit_marks,
    freeze_change,
    frozen_by,
    is_frozen_by_hand,
    stays_frozen_for,
    thaw_change,
)
from bot.incident.decisions import HOW_TO_SETTLE
from bot.incident.entries import MaintenanceMarked
from bot.incident.execution import ProposalState
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.observation.errors import CommitRefused, CouldNotLook, Refused
from bot.observation.ids import IncidentId, TableName
from bot.observation.table import TableState
from bot.ports import TableCatalog, TableChange
from bot.service.incident_store import IncidentStore, must_be_in_charge, must_be_open


@dataclass(eq=False)
class Maintenance:
    """Everything may be done twice: the sign on the table tells what is done."""

    _store: IncidentStore
    _catalog: TableCatalog

    def freeze(self, incident_id: IncidentId, *, by: str) -> str:
        """Stop expiry and orphan removal now; the answer for whoever asked. Raises Refused, CommitRefused,
        OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        must_be_open(incident)
        table = incident.opened.table
        state = self._catalog.load(table)
        if is_frozen_by_hand(state) and stays_frozen_for(state, incident_id):
            return f"Maintenance of {table} is already frozen by hand."
        if not incident.is_frozen:
            self._note(incident_id, by, "freezing", "Pausing snapshot expiry and orphan cleanup of the table.")
        try:
            is_new = commit_marks(self._catalog, table, lambda state: freeze_change(state, incident_id)) is not None
        except (CommitRefused, CouldNotLook) as error:
            if not incident.is_frozen:
                self._note(incident_id, by, "unfrozen", f"Maintenance was not frozen: {error.happened}")
            raise
        if not is_new and incident.is_frozen and not _was_cut_off(incident):
            return f"Maintenance of {table} is already frozen by {incident_id}."
        paused = "Snapshot expiry and orphan cleanup of the table are paused (gc.enabled=false)."
        self._note(incident_id, by, "frozen", paused)
        return (
            f"Maintenance of {table} is frozen until {incident_id} is closed or somebody types `/waterline unfreeze`."
        )

    def unfreeze(self, incident_id: IncidentId, *, by: str) -> str:
        """Set back what was there before; the answer for whoever asked. Raises Refused while a proposal is at work
        and for whoever is not in charge, CommitRefused, OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        must_be_in_charge(incident, by, "end the freeze of its table")
        _must_be_idle(incident)
        return self._unfreeze(incident, by)

    def unfreeze_closed(self, incident_id: IncidentId) -> None:
        """The end of the incident unfreezes its table: late rather than lost. Raises CommitRefused, OutcomeUnknown,
        CouldNotLook."""
        incident = self._store.get(incident_id)
        if incident.is_frozen and not incident.is_open:
            self._unfreeze(incident, WATERLINE)

    def _unfreeze(self, incident: Incident, by: str) -> str:
        table = incident.opened.table
        state = self._catalog.load(table)
        if frozen_by(state) not in (None, incident.id):
            said = f"Maintenance of the table stays frozen by {frozen_by(state)}."
        elif by == WATERLINE and is_frozen_by_hand(state):
            said = "Maintenance of the table stays frozen: somebody froze it by hand."
        elif self._taken_out(incident.id, table):
            said = f"Maintenance of the table is no longer frozen: {as_before(state)}."
        else:
            said = "Maintenance of the table was already running again."
        self._note(incident.id, by, "unfrozen", said)
        return said

    def _taken_out(self, incident_id: IncidentId, table: TableName) -> bool:
        """Whether the table was unfrozen. A proposal that was made meanwhile finds it frozen: it is asked for right
        before the commit, and again after it: then the freeze is set once more. Raises Refused."""

        def change(state: TableState) -> TableChange | None:
            _must_be_idle(self._store.get(incident_id))
            return thaw_change(state, incident_id)

        if commit_marks(self._catalog, table, change) is None:
            return False
        try:
            _must_be_idle(self._store.get(incident_id))
        except Refused:
            commit_marks(self._catalog, table, lambda state: freeze_change(state, incident_id))
            raise
        return True

    def _note(
        self, incident_id: IncidentId, by: str, status: Literal["freezing", "frozen", "unfrozen"], sentence: str
    ) -> None:
        mark = MaintenanceMarked(status=status, sentence=sentence)
        self._store.write(incident_id, by=by, decide=lambda now: [mark] if _is_news(now, mark) else [])


def _must_be_idle(incident: Incident) -> None:
    """Raises Refused while a proposal is undecided or under way."""
    busy = incident.unfinished
    if busy is not None:
        raise Refused(
            f"Maintenance stays frozen while “{busy.proposal.title}” is {busy.state.value}.",
            "Expected no undecided or running proposal: expiry could remove the snapshot that it restores.",
            HOW_TO_SETTLE if busy.state is ProposalState.UNKNOWN else "Wait for its end, or reject it.",
        )


def _is_news(now: Incident, mark: MaintenanceMarked) -> bool:
    return mark.status == "frozen" or now.is_frozen == (mark.status == "unfrozen")


def _was_cut_off(incident: Incident) -> bool:
    marks = [entry.body for entry in incident.entries if isinstance(entry.body, MaintenanceMarked)]
    return bool(marks) and marks[-1].status == "freezing"
