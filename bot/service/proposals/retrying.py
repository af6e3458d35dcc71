"""Takes up what had failed, when a person asks for it: exactly that way of exactly that notice."""

from bot.incident.delivery import DeliveryView, NoticeView
from bot.incident.entries import Body, NoticeRetried
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.observation.errors import Refused
from bot.observation.ids import IncidentId, UserId
from bot.observation.readers import Address
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.notices.notifying import notice_of
from bot.service.proposals.outdated import refuse_now


class Retrying:
    """Arms failed deliveries anew; Slack's outbox and the dispatcher send them, at most once for each time."""

    def __init__(self, store: IncidentStore, others: OtherDoubts) -> None:
        self._store = store
        self._others = others

    def retry(self, incident_id: IncidentId, seq: int, way: int, *, by: UserId) -> Address:
        """Send the notice that entry `seq` queued once more by its way number `way`; returns that way. Raises Refused
        when it arrived, is on its way, or does not hold (any more)."""
        to = ""
        around = self._others.of(self._store.get(incident_id))

        def decide(incident: Incident) -> list[Body]:
            nonlocal to
            view = notice_of(incident, seq)
            delivery = _way(view, way)
            to = delivery.address.key
            _refuse_done(view, delivery)
            refuse_now(incident, view, around)
            return [_retried(view, delivery)]

        after = self._store.write(incident_id, by=by, decide=decide)
        return notice_of(after, seq).deliveries[to].address

    def retry_all(
        self, incident_id: IncidentId, consumer: str, *, by: UserId
    ) -> tuple[list[NoticeView], dict[str, Refused]]:
        """(notices that are sent once more by each way that had failed; consumer -> why it is not told): of `consumer`,
        or of everybody where it is empty. What was not sent while the table was in doubt, and holds again, is among
        them. Raises Refused where nothing had failed."""
        found: list[NoticeView] = []
        refused: dict[str, Refused] = {}
        around = self._others.of(self._store.get(incident_id))

        def decide(incident: Incident) -> list[Body]:
            found.clear()
            refused.clear()
            bodies: list[Body] = []
            for view in incident.notices.values():
                ways = view.unreached + view.given_up
                if not ways or (consumer and view.notice.consumer != consumer):
                    continue
                try:
                    refuse_now(incident, view, around)
                except Refused as error:
                    if view.unreached or consumer:
                        refused[view.notice.consumer] = error
                    continue
                found.append(view)
                bodies += [_retried(view, delivery) for delivery in ways]
            if not found and not refused:
                raise Refused(
                    "Nothing to send again.",
                    "No notice has failed" + (f" to reach {consumer}" if consumer else "") + ", or it is under way.",
                    "The card shows who was notified.",
                )
            return bodies

        self._store.write(incident_id, by=by, decide=decide)
        told = {view.notice.consumer for view in found}
        return found, {name: error for name, error in refused.items() if name not in told}


def _way(view: NoticeView, way: int) -> DeliveryView:
    ways = list(view.deliveries.values())
    if not 0 <= way < len(ways):
        raise Refused("This notice has no such way.", "", "Use the buttons of the newest card.")
    return ways[way]


def _refuse_done(view: NoticeView, delivery: DeliveryView) -> None:
    if delivery.has_failed:
        return
    if delivery.ended is not None and delivery.ended.how == "overtaken":
        raise Refused("This notice is out of date.", delivery.ended.detail, "Nothing was sent.")
    if delivery.ended is not None:
        raise Refused(f"{view.notice.consumer} has this notice already.", "It was delivered.", "Nothing was sent.")
    who = delivery.retried[-1] if delivery.retried else WATERLINE
    asked = "Waterline tries it" if who == WATERLINE else f"<@{who}> asked for it"
    raise Refused(
        "This notice is already on its way.", f"{asked}.", "The card shows the delivery. Nothing else is needed."
    )


def _retried(view: NoticeView, delivery: DeliveryView) -> NoticeRetried:
    return NoticeRetried(key=view.key, to=delivery.address.key, number=len(delivery.retried) + 1)
