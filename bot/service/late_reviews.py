"""Opens the contract review of an incident that was closed while its table or job could not be looked at."""

from datetime import datetime

from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.ports import Clock, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.looks import LOOKS, Looks
from bot.service.reviewing import Reviews

_WORK = "Opening the contract review"


class LateReviews:
    """Tries again for a day after the end, by timers that are rebuilt from the journal. Whoever opens it before, by
    hand or in another replica, ends that."""

    def __init__(
        self, store: IncidentStore, reviews: Reviews, background: Background, clock: Clock, timers: Timers
    ) -> None:
        self._store = store
        self._reviews = reviews
        self._clock = clock
        self._looks = Looks("late-reviews", _WORK, store, background, timers, self._due, self.settle)

    def start(self) -> None:
        """Set what is to come, and follow the journal from now on."""
        self._looks.start()

    def settle(self, incident_id: IncidentId) -> None:
        """Open it, unless it is open. Raises UnknownTable, CouldNotLook: the incident's record says so, once."""
        if self._reviews.is_owed(self._store.get(incident_id)):
            self._reviews.open(incident_id, by=WATERLINE, step=None)

    def _due(self, incident: Incident, _at_once: bool) -> datetime | None:
        """The next moment after the end; the closing itself has just looked."""
        ended, now = incident.closed_at, self._clock.now()
        if ended is None or not self._reviews.is_owed(incident):
            return None
        return next((ended + each for each in LOOKS if ended + each > now), None)
