"""The contract review of an incident: filled from evidence, handed to owners with a day, settled by what was done."""

from datetime import datetime
from typing import Literal

from bot.domain.entries import Body, FindingAssigned, FindingSettled, ReviewOpened, StepDone
from bot.domain.errors import BadConfiguration, Refused
from bot.domain.evidence import Observation
from bot.domain.ids import IncidentId, StepId, UserId
from bot.domain.incident import Incident
from bot.domain.review import charged, review
from bot.domain.review_changes import contract_changes
from bot.domain.review_comparison import earlier_of_the_same_mode
from bot.domain.review_entries import ContractPatch
from bot.domain.review_items import ReviewItem, review_items
from bot.ports import Clock
from bot.ports.contracts import Contracts
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer


class Reviews:
    """Open, assign, settle. A review goes on after its incident is closed."""

    def __init__(self, store: IncidentStore, observer: Observer, contracts: Contracts, clock: Clock) -> None:
        self._store = store
        self._observer = observer
        self._contracts = contracts
        self._clock = clock

    def open(self, incident_id: IncidentId, *, by: str, step: StepId | None) -> None:
        """Fill it from what was observed, or anew from what is observed now. Raises UnknownTable, CouldNotLook."""
        opened = self.filled(self._store.get(incident_id))

        def decide(now: Incident) -> list[Body]:
            bodies: list[Body] = [opened]
            if step is not None and now.is_open:
                bodies.append(StepDone(step=step, key="done", why="the contract review is open"))
            return bodies

        self._store.write(incident_id, by=by, decide=decide)

    def is_owed(self, incident: Incident) -> bool:
        """Whether the incident has ended without its review, and its table is still watched."""
        is_watched = incident.opened.table in self._observer.tables
        return incident.closed_at is not None and incident.review is None and is_watched

    def filled(self, incident: Incident) -> ReviewOpened:
        """The review as it would be opened now; nothing is written. Raises UnknownTable, CouldNotLook.

        *cost*: one look at table and job, as for a diagnosis; no data is read.
        """
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        setup = self._observer.setup(incident.opened.table)
        findings = review(incident, observation, setup.contract)
        return ReviewOpened(
            findings=charged(findings, incident, setup, at=self._clock.now()),
            patch=self._patch(incident, observation),
            earlier=earlier_of_the_same_mode(incident, self._store.all(), findings),
        )

    def assign(self, incident_id: IncidentId, number: int, *, owner: UserId, due: datetime, by: UserId) -> ReviewItem:
        """Hand a term to somebody, or set another day. Raises Refused for a day that has passed, or no such term."""
        if due <= self._clock.now():
            raise Refused(
                "This day has passed.", f"Expected one after today; found {due:%Y-%m-%d}.", "Choose a later one."
            )

        def decide(now: Incident) -> list[Body]:
            item = _item(now, number)
            if (item.owner, item.due, item.settled) == (owner, due, None):
                return []
            return [FindingAssigned(contract=item.finding.contract, term=item.finding.term, owner=owner, due=due)]

        return _item(self._store.write(incident_id, by=by, decide=decide), number)

    def settle(
        self, incident_id: IncidentId, number: int, how: Literal["mended", "accepted"], reason: str, *, by: UserId
    ) -> ReviewItem:
        """Say that a term is mended, or accepted as it is. Raises Refused without a reason, or twice."""
        if not reason.strip():
            raise Refused(
                "A term is settled with a sentence.",
                "It says what was done, or why nothing is.",
                "Write it into the form.",
            )

        def decide(now: Incident) -> list[Body]:
            item = _item(now, number)
            if item.settled is not None:
                raise Refused(f"This term is {item.settled.how} already.", item.settled.reason, "")
            finding = item.finding
            return [FindingSettled(contract=finding.contract, term=finding.term, how=how, reason=reason.strip())]

        return _item(self._store.write(incident_id, by=by, decide=decide), number)

    def _patch(self, incident: Incident, observation: Observation) -> ContractPatch | None:
        """A contract that cannot be read ends no review: it is said instead."""
        table = incident.opened.table
        try:
            filed = self._contracts.filed(table)
            if filed is None:
                return None
            changes = contract_changes(observation, filed, self._observer.setup(table).contract)
            return self._contracts.patch(table, changes)
        except BadConfiguration as error:
            return ContractPatch(file="the contract", diff="", changes=(), left_out=(str(error),))


def _item(incident: Incident, number: int) -> ReviewItem:
    found = next((item for item in review_items(incident) if item.number == number), None)
    if found is None:
        raise Refused(
            "This term is not part of the newest review.",
            f"The review of {incident.id} was opened anew since, or the term holds now.",
            "Use the newest review message.",
        )
    return found
