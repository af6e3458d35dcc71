"""Opens the contract review of an incident that was closed while its table or job could not be looked at."""

from datetime import datetime

from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.ports import Clock, Outbox, Post, Timers
from bot.service.background import Background
from bot.service.incident_store import IncidentStore
from bot.service.looks import LOOKS, Looks
from bot.service.reviewing import Reviews

_WORK = "Opening the contract review"
_LAST = LOOKS[-1]
_TOO_LATE = 2 * _LAST
"""So long after the end nobody is told any more: records of earlier versions have ended without a review."""


class LateReviews:
    """Tries again for a day after the end, by timers that are rebuilt from the journal. Whoever opens it before, by
    hand or in another replica, ends that. When it is given up, the incident's thread says so."""

    def __init__(
        self,
        store: IncidentStore,
        reviews: Reviews,
        outbox: Outbox,
        background: Background,
        clock: Clock,
        timers: Timers,
    ) -> None:
        self._store = store
        self._reviews = reviews
        self._outbox = outbox
        self._clock = clock
        self._looks = Looks("late-reviews", _WORK, store, background, timers, self._due, self.settle)

    def start(self) -> None:
        """Set what is to come, and follow the journal from now on."""
        self._looks.start()

    def settle(self, incident_id: IncidentId) -> None:
        """Open it, unless it is open. Raises UnknownTable, CouldNotLook: the incident's record says so, once."""
        incident = self._store.get(incident_id)
        if not self._reviews.is_owed(incident):
            return
        try:
            self._reviews.open(incident_id, by=WATERLINE, step=None)
        except Exception:
            if incident.closed_at is not None and self._clock.now() - incident.closed_at >= _LAST:
                self._give_up(incident)
            raise

    def _due(self, incident: Incident, _at_once: bool) -> datetime | None:
        """The next moment after the end; the closing itself has just looked. Where the last one has passed while no
        process was there, a last look all the same."""
        ended, now = incident.closed_at, self._clock.now()
        if ended is None or not self._reviews.is_owed(incident):
            return None
        if now - ended < _LAST:
            return next(ended + each for each in LOOKS if ended + each > now)
        is_settled = now - ended >= _TOO_LATE or self._outbox.find(_key(incident)) is not None
        return None if is_settled else now + LOOKS[0]

    def _give_up(self, incident: Incident) -> None:
        text = (
            f"The contract review of {incident.id} could not be opened within a day of its end, and this is not tried "
            f"any more. When table and job can be looked at again, `/waterline review {incident.id}` opens it."
        )
        self._outbox.put(
            Post(
                key=_key(incident),
                incident=incident.id,
                channel=incident.opened.channel,
                thread_of=f"{incident.id}/card",
                text=text,
            )
        )


def _key(incident: Incident) -> str:
    return f"{incident.id}/review/given-up"
