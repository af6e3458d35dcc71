"""What becomes of a notice in Slack: posted, refused, or not posted any more. For other ways the courier does so."""

from typing import Literal

from bot.domain.entries import Body, NoticeEnded
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.ports import Clock
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.outdated import overtaken
from bot.service.retrying import tried_again_at


class Posting:
    """Puts the end of what is sent to Slack on record; Slack's outbox sends it."""

    def __init__(self, store: IncidentStore, clock: Clock, others: OtherDoubts) -> None:
        self._store = store
        self._clock = clock
        self._others = others

    def ended(
        self,
        incident_id: IncidentId,
        key: str,
        *,
        how: Literal["delivered", "failed"],
        detail: str,
        may_mend: bool = False,
    ) -> None:
        """Note that Slack took a notice, or refuses it; `may_mend`: until somebody invites the bot, or the like."""

        def decide(incident: Incident) -> list[Body]:
            view = incident.notices.get(key)
            delivery = view.delivery("") if view is not None else None
            if delivery is None or delivery.ended is not None:
                return []
            asks = incident.responder if how == "failed" else None
            again = tried_again_at(delivery, self._clock.now()) if may_mend else None
            return [NoticeEnded(key=key, how=how, detail=detail, to=delivery.address.key, asks=asks, again_at=again)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def overtaken(self, incident_id: IncidentId, key: str) -> str | None:
        """Why Slack is not sent a notice any more, put on record as its end; None: it still holds, or has an end.
        Raises CouldNotLook."""

        def decide(incident: Incident) -> list[Body]:
            view = incident.notices.get(key)
            way = view.delivery("") if view is not None else None
            if view is None or way is None or way.ended is not None:
                return []
            end = overtaken(incident, view, way, around)
            return [end] if end is not None else []

        around = self._others.of(self._store.get(incident_id))
        view = self._store.write(incident_id, by=WATERLINE, decide=decide).notices.get(key)
        way = view.delivery("") if view is not None else None
        return way.ended.detail if way is not None and way.ended is not None and way.ended.how == "overtaken" else None
