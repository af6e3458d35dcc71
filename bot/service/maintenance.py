"""Freeze and thaw of a table's maintenance beside any proposal: at once by a responder, and back at the end."""

from collections.abc import Sequence
from datetime import datetime

from bot.actions._effects.kind import NO_SCHEDULERS
from bot.actions._maintenance import (
    as_before,
    commit_marks,
    freeze_change,
    frozen_by,
    is_frozen,
    is_frozen_by_hand,
    stays_frozen_for,
    thaw_change,
)
from bot.domain.entries import MaintenanceMarked
from bot.domain.errors import CommitRefused, CouldNotLook, Refused
from bot.domain.execution import UNFINISHED, ProposalState
from bot.domain.freezes import owes_resume
from bot.domain.ids import IncidentId, TableName
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.sentences import clock_time
from bot.domain.settling import HOW_TO_SETTLE
from bot.domain.table import TableState
from bot.ports import Schedulers, TableCatalog, TableChange
from bot.service.incident_store import IncidentStore, must_be_in_charge, must_be_open


class Maintenance:
    """Everything may be done twice: the sign on the table tells what is done."""

    def __init__(self, store: IncidentStore, catalog: TableCatalog, schedulers: Schedulers = NO_SCHEDULERS) -> None:
        self._store = store
        self._catalog = catalog
        self._schedulers = schedulers

    def freeze(self, incident_id: IncidentId, *, by: str, until: datetime | None = None) -> str:
        """Stop expiry and orphan removal now; the answer for whoever asked. `until`: when it is expected to end, by
        which somebody is asked for the thaw; it may be said anew while it lasts. Raises Refused, CommitRefused,
        OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        must_be_open(incident)
        table = incident.opened.table
        state = self._catalog.load(table)
        if is_frozen_by_hand(state) and stays_frozen_for(state, incident_id):
            ignored = [] if until is None else [f"Waterline does not ask at {clock_time(until)}."]
            return " ".join([f"Maintenance of {table} is already frozen by hand.", *ignored])
        if not incident.is_frozen:
            self._note(incident_id, by, "freezing", "Pausing snapshot expiry and orphan cleanup of the table.")
        paused = self._schedulers.pause(table)
        try:
            is_new = commit_marks(self._catalog, table, lambda state: freeze_change(state, incident_id)) is not None
        except (CommitRefused, CouldNotLook) as error:
            if not incident.is_frozen:
                said = f"Maintenance was not frozen: {error.happened}"
                self._write(incident_id, by, [_marked("thawed", said), *self._resumed(incident)])
            raise
        asked = [] if until is None else [f"Waterline asks at {clock_time(until)} whether it can end."]
        if not is_new and incident.is_frozen and not _was_cut_off(incident):
            if until is not None:
                self._note(incident_id, by, "frozen", f"Maintenance stays frozen. {asked[0]}", until)
            return " ".join([f"Maintenance of {table} is already frozen by {incident_id}.", *asked])
        stopped = "Snapshot expiry and orphan cleanup of the table are paused (gc.enabled=false)."
        self._note(incident_id, by, "frozen", " ".join([stopped, *paused, *asked]), until)
        frozen = f"Maintenance of {table} is frozen until {incident_id} is closed or somebody types `/waterline thaw`."
        return " ".join([frozen, *paused, *asked])

    def thaw(self, incident_id: IncidentId, *, by: str) -> str:
        """Set back what was there before; the answer for whoever asked. Raises Refused while a proposal is at work
        and for whoever is not in charge, CommitRefused, OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        must_be_in_charge(incident, by, "end the freeze of its table")
        _must_be_idle(incident)
        return self._thaw(incident, by)

    def is_owed(self, incident: Incident) -> bool:
        """Whether the end of the incident thaws the table still, or a compaction is to be let go on."""
        if incident.is_frozen:
            return not incident.is_open
        return owes_resume(incident) and bool(self._schedulers.names(incident.opened.table))

    def settle(self, incident_id: IncidentId) -> None:
        """The duty that `is_owed` tells of: late rather than lost. A scheduler that does not answer is put on record
        once, and asked again the next time. Raises CommitRefused, OutcomeUnknown, CouldNotLook."""
        incident = self._store.get(incident_id)
        if self.is_owed(incident):
            if incident.is_frozen:
                self._thaw(incident, WATERLINE)
            else:
                self._let_go(incident)

    def _thaw(self, incident: Incident, by: str) -> str:
        """The table first: whatever becomes of the schedulers, nothing keeps it from being maintained."""
        table = incident.opened.table
        state = self._catalog.load(table)
        resumed: list[MaintenanceMarked] = []
        if frozen_by(state) not in (None, incident.id):
            said = _kept(state)
        elif by == WATERLINE and is_frozen_by_hand(state):
            said, resumed = "Maintenance of the table stays frozen: somebody froze it by hand.", self._resumed(incident)
        else:
            said = "Maintenance of the table was already running again."
            if self._taken_out(incident.id, table):
                said = f"Maintenance of the table is no longer frozen: {as_before(state)}."
            if is_frozen(state) or incident.is_frozen or incident.compactions != "go-on":
                resumed = self._resumed(incident)
        marks = [_marked("thawed", said)] if incident.is_frozen else []
        self._write(incident.id, by, [*marks, *resumed])
        return " ".join([said, *(mark.sentence for mark in resumed if mark.status == "resuming")])

    def _taken_out(self, incident_id: IncidentId, table: TableName) -> bool:
        """Whether the table was thawed. A proposal that was made meanwhile finds it frozen: it is asked for right
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

    def _let_go(self, incident: Incident) -> None:
        state = self._catalog.load(incident.opened.table)
        if frozen_by(state) not in (None, incident.id):
            marks = [_marked("resumed", f"{_kept(state)} Compactions resume when that freeze ends.")]
        else:
            marks = self._resumed(incident)
        self._write(incident.id, WATERLINE, marks)

    def _resumed(self, incident: Incident) -> list[MaintenanceMarked]:
        """Lets the compactions go on; what is to be put on record of it, beside a thaw."""
        table = incident.opened.table
        try:
            self._schedulers.resume(table)
        except CouldNotLook as error:
            return [_marked("resuming", str(error))]
        return [_marked("resumed", f"Resumed: {' and '.join(self._schedulers.names(table))}.")]

    def _note(
        self, incident_id: IncidentId, by: str, status: str, sentence: str, until: datetime | None = None
    ) -> None:
        self._write(incident_id, by, [_marked(status, sentence, until)])

    def _write(self, incident_id: IncidentId, by: str, marks: Sequence[MaintenanceMarked]) -> None:
        self._store.write(incident_id, by=by, decide=lambda now: [mark for mark in marks if _is_news(now, mark)])


def _must_be_idle(incident: Incident) -> None:
    """Raises Refused while a proposal is undecided or under way."""
    busy = next((v for v in incident.proposals.values() if v.state in UNFINISHED), None)
    if busy is not None:
        raise Refused(
            f"Maintenance stays frozen while “{busy.proposal.title}” is {busy.state.value}.",
            "Expected no undecided or running proposal: expiry could remove the snapshot that it restores.",
            HOW_TO_SETTLE if busy.state is ProposalState.UNKNOWN else "Wait for its end, or reject it.",
        )


def _marked(status: str, sentence: str, until: datetime | None = None) -> MaintenanceMarked:
    return MaintenanceMarked.model_validate({"status": status, "sentence": sentence, "until": until})


def _kept(state: TableState) -> str:
    return f"Maintenance of the table stays frozen by {frozen_by(state)}."


def _is_news(now: Incident, mark: MaintenanceMarked) -> bool:
    match mark.status:
        case "freezing" | "thawed":
            return now.is_frozen == (mark.status == "thawed")
        case "resuming":
            return now.compactions != "resuming"
        case "resumed":
            return not now.is_frozen and now.compactions != "go-on"
    return True


def _was_cut_off(incident: Incident) -> bool:
    marks = [entry.body for entry in incident.entries if isinstance(entry.body, MaintenanceMarked)]
    return bool(marks) and marks[-1].status == "freezing"
