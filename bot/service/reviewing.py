"""The contract review of an incident: filled from evidence, handed to owners with a day, settled by what was done."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from bot.incident.contract_terms import contract_snippet
from bot.incident.entries import Body, FindingAssigned, FindingSettled, ReviewOpened, StepDone
from bot.incident.incident import Incident
from bot.incident.review import ReviewItem, charged, review, review_items
from bot.observation.contract import TableContract
from bot.observation.errors import BadConfiguration, Refused
from bot.observation.evidence import Observation
from bot.observation.ids import IncidentId, StepId, TableName, UserId
from bot.ports import Clock
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer


@dataclass(eq=False)
class Reviews:
    """Open, assign, settle. A review goes on after its incident is closed."""

    _store: IncidentStore
    _observer: Observer
    _filed: Callable[[TableName], TableContract | None]
    """What the table's contract file says now, None without one. Raises BadConfiguration."""
    _clock: Clock

    def open(self, incident_id: IncidentId, *, by: str, step: StepId | None) -> None:
        """Fill it from what was observed, or anew from what is observed now. Raises UnknownTable, CouldNotLook."""
        opened = self.filled(self._store.get(incident_id))

        def decide(now: Incident) -> list[Body]:
            bodies: list[Body] = [opened]
            if step is not None and now.is_open:
                bodies.append(StepDone(step=step, key="done", why="the contract review is open"))
            return bodies

        self._store.write(incident_id, by=by, decide=decide)

    def filled(self, incident: Incident) -> ReviewOpened:
        """The review as it would be opened now; nothing is written. Raises UnknownTable, CouldNotLook.

        *cost*: one look at table and job, as for a diagnosis; no data is read.
        """
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        setup = self._observer.setup(incident.opened.table)
        findings = review(incident, observation, setup.contract)
        return ReviewOpened(
            findings=charged(findings, incident, setup, at=self._clock.now()),
            snippet=self._snippet(incident, observation),
        )

    def assign(self, incident_id: IncidentId, number: int, *, owner: UserId, due: datetime, by: UserId) -> ReviewItem:
        """Hand a term to somebody, or set another day. Raises Refused for a day that has passed, or no such term."""
        if due <= self._clock.now():
            raise Refused("This day has passed.", f"It is {due:%Y-%m-%d}.", "Choose a day after today.")

        def decide(now: Incident) -> list[Body]:
            item = _item(now, number)
            if (item.owner, item.due, item.settled) == (owner, due, None):
                return []
            return [FindingAssigned(contract=item.finding.contract, term=item.finding.term, owner=owner, due=due)]

        return _item(self._store.write(incident_id, by=by, decide=decide), number)

    def settle(
        self, incident_id: IncidentId, number: int, how: Literal["fixed", "accepted"], reason: str, *, by: UserId
    ) -> ReviewItem:
        """Say that a term is fixed, or accepted as it is. Raises Refused without a reason, or twice."""
        if not reason.strip():
            raise Refused("A reason is missing.", "", "Write what was done, or why nothing is done.")

        def decide(now: Incident) -> list[Body]:
            item = _item(now, number)
            if item.settled is not None:
                raise Refused(f"This item is {item.settled.how} already.", item.settled.reason, "")
            finding = item.finding
            return [FindingSettled(contract=finding.contract, term=finding.term, how=how, reason=reason.strip())]

        return _item(self._store.write(incident_id, by=by, decide=decide), number)

    def _snippet(self, incident: Incident, observation: Observation) -> str | None:
        """A contract that cannot be read does not stop the review: the snippet says what is wrong with the file."""
        table = incident.opened.table
        try:
            filed = self._filed(table)
        except BadConfiguration as error:
            return "\n".join(f"# {line}" for line in str(error).splitlines())
        return None if filed is None else contract_snippet(observation, filed, self._observer.setup(table).contract)


def _item(incident: Incident, number: int) -> ReviewItem:
    found = next((item for item in review_items(incident) if item.number == number), None)
    if found is None:
        raise Refused(
            "This item is not part of the newest review.",
            f"The review of {incident.id} was opened again, or the term holds now.",
            "Use the newest review message.",
        )
    return found
