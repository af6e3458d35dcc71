"""What the bot owes an incident in its present state. Called after each change and at start.

Everything here may be called at any time, any number of times: each duty looks whether it is done.
"""

from bot.domain.diagnosis import Remedy
from bot.domain.entries import Body, NoteAdded, StepDone
from bot.domain.errors import WaterlineError
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, ProposalId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.service.background import Background
from bot.service.evidence_desk import EvidenceDesk
from bot.service.executing import Executions
from bot.service.incident_store import IncidentStore
from bot.service.proposing import Proposals
from bot.service.telling import Telling
from bot.service.verifying import Verifier
from bot.service.walking import Walker
from bot.service.waterline import Waterline


NO_ACTION = "no_action_needed"
"""The notice that ends an incident in which nothing was wrong."""


class Duties:
    """Finds what is owed and does it in the background."""

    def __init__(
        self,
        store: IncidentStore,
        background: Background,
        desk: EvidenceDesk,
        walker: Walker,
        proposals: Proposals,
        executions: Executions,
        verifier: Verifier,
        waterline: Waterline,
        telling: Telling,
    ) -> None:
        self._store = store
        self._background = background
        self._desk = desk
        self._walker = walker
        self._proposals = proposals
        self._executions = executions
        self._verifier = verifier
        self._waterline = waterline
        self._telling = telling

    def settle(self, incident_id: IncidentId) -> None:
        """Do what is owed, soon."""
        self._background.submit(incident_id, "the bot's own duty", lambda: self.settle_now(incident_id))

    def settle_all(self) -> None:
        """At start and now and then: every open incident."""
        for incident in self._store.all():
            if incident.is_open:
                self.settle(incident.id)

    def settle_now(self, incident_id: IncidentId) -> None:
        """Do what is owed, in this thread."""
        self._proposals.expire_if_due(incident_id)
        incident = self._store.get(incident_id)
        if not incident.is_open:
            return
        self._mark_table(incident)
        self._warn(incident)
        for run in [r for r in incident.runs.values() if r.is_running]:
            self._desk.resume(incident_id, run.run)
        for view in list(incident.proposals.values()):
            if view.state in {ProposalState.EXECUTING, ProposalState.UNKNOWN}:
                self._executions.carry_on(incident_id, view.proposal.id)
        self._prove(incident_id)
        self._conclude(incident_id)
        self._conclude_healthy(incident_id)

    def verify_again(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        """A responder asks for the proof anew."""

        def do() -> None:
            self._verifier.verify(incident_id, proposal_id)
            self._conclude(incident_id)

        self._background.submit(incident_id, "the verification", do)

    def _mark_table(self, incident: Incident) -> None:
        if incident.waterline is not None:
            return
        try:
            self._waterline.under_review(incident.id)
        except WaterlineError as error:
            self._note_once(incident.id, f"The table could not be marked as under review: {error} It is tried again.")

    def _warn(self, incident: Incident) -> None:
        if any(view.notice.kind == "first_warning" for view in incident.notices.values()):
            return
        try:
            notices = self._telling.preview(incident.id, "first_warning")
        except WaterlineError as error:
            self._note_once(incident.id, f"Consumers could not be warned yet: {error} It is tried again.")
            return
        self._telling.send(incident.id, notices, by=WATERLINE, step=None)

    def _prove(self, incident_id: IncidentId) -> None:
        incident = self._store.get(incident_id)
        for view in incident.proposals.values():
            if view.state is ProposalState.APPLIED and view.verified is None:
                self._verifier.verify(incident_id, view.proposal.id)

    def _conclude(self, incident_id: IncidentId) -> None:
        """After the proof: the waterline moves, and the walk goes on."""
        incident = self._store.get(incident_id)
        for view in incident.proposals.values():
            verified = view.verified
            if verified is not None and verified.passed:
                known = incident.waterline
                if known is None or known.status != "trusted":
                    self._waterline.trusted(incident_id, verified.head)
            self._end_step(incident_id, view.proposal.id)

    def _conclude_healthy(self, incident_id: IncidentId) -> None:
        """Consumers were told that nothing is wrong: then the mark says so, too."""
        incident = self._store.get(incident_id)
        told = any(view.notice.kind == NO_ACTION for view in incident.notices.values())
        matches = incident.diagnosis.matches if incident.diagnosis else ()
        if not told or not matches or incident.waterline is None or incident.waterline.status == "trusted":
            return
        _mode, match = matches[0]
        if match.remedy is Remedy.NOTHING and match.last_good is not None:
            self._waterline.trusted(incident_id, match.last_good)

    def _end_step(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        view = self._store.get(incident_id).proposals[proposal_id]
        if view.step is None:
            return
        if view.state is not ProposalState.APPLIED or view.verified is None or not view.verified.passed:
            return  # anything else leaves the step open: it can be proposed anew
        step, why = view.step, "carried out and proven on the new head"

        def decide(incident: Incident) -> list[Body]:
            known = incident.outcomes.get(step)
            later = known is not None and known.at >= incident.proposals[proposal_id].proposal.proposed_at
            return [] if later else [StepDone(step=step, key=view.state.value, why=why)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        self._walker.follow(incident_id)

    def _note_once(self, incident_id: IncidentId, text: str) -> None:
        def decide(incident: Incident) -> list[Body]:
            said = any(isinstance(e.body, NoteAdded) and e.body.text == text for e in incident.entries)
            return [] if said else [NoteAdded(text=text)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
