"""Ends an incident: the contract review is filled from evidence, then the record is closed."""

from bot.domain.entries import Body, IncidentClosed, ReviewOpened, StepDone
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, StepId, UserId
from bot.domain.incident import Incident
from bot.domain.review import review
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer

_BUSY = {
    ProposalState.PROPOSED,
    ProposalState.HELD,
    ProposalState.APPROVED,
    ProposalState.EXECUTING,
    ProposalState.UNKNOWN,
}


class Closing:
    """Review and close."""

    def __init__(self, store: IncidentStore, observer: Observer) -> None:
        self._store = store
        self._observer = observer

    def open_review(self, incident_id: IncidentId, *, by: UserId, step: StepId | None) -> None:
        """Fill the first contract review from what was observed."""
        incident = self._store.get(incident_id)
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        contract = self._observer.setup(incident.opened.table).contract

        def decide(now: Incident) -> list[Body]:
            bodies: list[Body] = [ReviewOpened(findings=review(now, observation, contract))]
            if step is not None:
                bodies.append(StepDone(step=step, key="done", why="the contract review is open"))
            return bodies

        self._store.write(incident_id, by=by, decide=decide)

    def close(self, incident_id: IncidentId, reason: str, *, by: UserId) -> None:
        """End it. Raises Refused without a reason, twice, or while a proposal is undecided or under way."""
        if not reason.strip():
            raise Refused(
                "An incident is closed with a reason.", "", "Write it after the command: /waterline close REASON."
            )

        def decide(now: Incident) -> list[Body]:
            if not now.is_open:
                raise Refused(f"{incident_id} was closed at {now.closed_at:%H:%M} UTC by <@{now.closed_by}>.", "", "")
            busy = next((v for v in now.proposals.values() if v.state in _BUSY), None)
            if busy is not None:
                raise Refused(
                    f"“{busy.proposal.title}” is {busy.state.value}.",
                    "An incident is not closed over an undecided or unfinished proposal.",
                    "Decide it, or wait for its end.",
                )
            return [IncidentClosed(reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)
