"""The contract review of an incident, filled from evidence; also once its incident is closed."""

from bot.incident.entries import Body, ReviewOpened, StepDone
from bot.incident.incident import Incident
from bot.incident.review import review
from bot.observation.ids import IncidentId, StepId
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer


class Reviews:
    def __init__(self, store: IncidentStore, observer: Observer) -> None:
        self._store = store
        self._observer = observer

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
        return ReviewOpened(findings=review(incident, observation, setup.contract))
