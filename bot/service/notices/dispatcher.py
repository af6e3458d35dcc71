"""Brings notices by e-mail, webhook and file: each try is on record before it is made, and tried again by rule.

What a crash interrupted is tried again under the same key, and says of itself that it may be there twice. What holds no
more by its turn is not sent.

What becomes of a notice in Slack: posted, refused, or not posted any more. For other ways the dispatcher does so.

What had failed is taken up when a person asks for it: exactly that way of exactly that notice.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal

import structlog

from bot.incident.delivery import DeliveryView, NoticeView, again_after
from bot.incident.entries import Body, DeliveryDelayed, NoticeEnded, NoticeRetried
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import sending_key
from bot.observation.errors import NotDelivered, Refused
from bot.observation.ids import IncidentId, UserId
from bot.observation.readers import Address
from bot.ports import Clock, DeliveryResult, NoticeDelivery, Transport
from bot.service.background import Background
from bot.service.diagnosing import OtherDoubts
from bot.service.incident_store import IncidentStore
from bot.service.notices.notifying import notice_of
from bot.service.notices.policy import overtaken, refuse_now, tried_or_ended

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class NotificationDispatcher:
    """Makes every try that is due and is not Slack's, in threads of its own: a mail server that does not answer must
    hold up nothing else."""

    _store: IncidentStore
    _carriers: Mapping[str, Transport]
    """`email`, `webhook`, `file` -> how; one that is missing is not configured."""
    _clock: Clock
    _background: Background
    _others: OtherDoubts

    def look(self, incident_id: IncidentId) -> None:
        """Soon make the tries that are due of it."""
        self._background.submit(incident_id, "Sending notices", partial(self.deliver_due, incident_id))

    def look_at_all(self) -> None:
        """At start and now and then: what another process has queued, and what is to be tried again."""
        for incident in self._store.all():
            if any(at <= self._clock.now() for at, _view, _delivery in waiting(incident)):
                self.look(incident.id)

    def deliver_due(self, incident_id: IncidentId) -> None:
        """Make each try that is due now."""
        incident = self._store.get(incident_id)
        for at, view, delivery in waiting(incident):
            if at <= self._clock.now():
                self._try(incident, view, delivery)

    def _try(self, incident: Incident, view: NoticeView, delivery: DeliveryView) -> None:
        if not self._begun(incident.id, view, delivery):
            return
        outgoing = NoticeDelivery(
            key=sending_key(view.key, delivery.address.key),
            notice=view.notice,
            address=delivery.address,
            incident=incident.id,
            table=incident.opened.table,
            private=incident.is_private,
            number=delivery.tries + 1,
            may_be_there=delivery.may_be_there,
            at=self._clock.now(),
        )
        try:
            receipt = self._carry(outgoing)
        except NotDelivered as problem:
            self._failed(incident.id, view, delivery, problem)
            return
        again = "It may have arrived twice." if delivery.may_be_there else ""
        detail = " ".join(each for each in (receipt.detail, again) if each)
        ended = NoticeEnded(key=view.key, how="delivered", detail=detail, to=delivery.address.key)
        _end(self._store, incident.id, ended)

    def _carry(self, outgoing: NoticeDelivery) -> DeliveryResult:
        carrier = self._carriers.get(outgoing.address.by)
        if carrier is None:
            raise NotDelivered(f"Nothing is configured that sends {outgoing.address}.", is_final=True)
        try:
            return carrier.send(outgoing)
        except NotDelivered:
            raise
        except Exception as error:  # tried again by rule and then told, not each time that somebody looks
            log.exception("notice not brought", notice=outgoing.notice.key(outgoing.incident), to=outgoing.address.key)
            raise NotDelivered(f"A defect of ours: {type(error).__name__}.", may_be_there=True) from error

    def _begun(self, incident_id: IncidentId, view: NoticeView, delivery: DeliveryView) -> bool:
        """Whether to make this try. The intent is unique in the database: of two processes one goes on."""
        key, to, number = view.key, delivery.address.key, delivery.tries + 1
        around = self._others.of(self._store.get(incident_id))
        try:
            after = self._store.write(
                incident_id, by=WATERLINE, decide=lambda now: [tried_or_ended(now, key, to, number, around)]
            )
        except Refused:
            return False
        return after.notices[key].deliveries[to].ended is None

    def _failed(self, incident_id: IncidentId, view: NoticeView, delivery: DeliveryView, problem: NotDelivered) -> None:
        number, to = delivery.tries + 1, delivery.address.key
        may_be_there = problem.may_be_there or delivery.may_be_there
        count = number - delivery.tries_before
        wait = None if problem.is_final else again_after(count)
        if wait is not None:
            delayed = DeliveryDelayed(
                key=view.key, to=to, number=number, problem=problem.happened, again_at=self._clock.now() + wait,
                may_be_there=may_be_there,
            )  # fmt: skip
            self._store.write(incident_id, by=WATERLINE, decide=lambda _now: [delayed])
            return
        log.warning("notice not delivered", notice=view.key, to=to, tries=number, problem=problem.happened)
        tried = "" if count == 1 else f" Tried {count} times."
        detail = f"{problem.happened}{tried}"
        ended = NoticeEnded(key=view.key, how="failed", detail=detail, to=to, may_be_there=may_be_there)
        _end(self._store, incident_id, ended)


def _end(store: IncidentStore, incident_id: IncidentId, ended: NoticeEnded) -> None:
    """Put the end of one way on record, once; the responder is asked about what could not be delivered."""

    def decide(now: Incident) -> list[Body]:
        view = now.notices.get(ended.key)
        delivery = view.delivery(ended.to) if view is not None else None
        if delivery is None or delivery.ended is not None:
            return []
        asks = now.responder if ended.how == "failed" else None
        return [ended.model_copy(update={"to": delivery.address.key, "asks": asks})]

    store.write(incident_id, by=WATERLINE, decide=decide)


def waiting(incident: Incident) -> list[tuple[datetime, NoticeView, DeliveryView]]:
    """What is not at its end, the earliest due first."""
    found = [
        (due, view, delivery)
        for view in incident.notices.values()
        for delivery in view.deliveries.values()
        if (due := delivery.due_at(view.queued_at)) is not None
    ]
    return sorted(found, key=lambda each: each[0])


@dataclass(eq=False)
class Deliveries:
    """Puts the end of what is sent to Slack on record, and arms what has failed anew; Slack's outbox and the dispatcher
    send it, at most once for each time."""

    _store: IncidentStore
    _others: OtherDoubts

    def ended(self, incident_id: IncidentId, key: str, *, how: Literal["delivered", "failed"], detail: str) -> None:
        """Note that Slack took a notice, or refuses it."""
        _end(self._store, incident_id, NoticeEnded(key=key, how=how, detail=detail))

    def waits(self, incident_id: IncidentId, key: str, *, problem: str, again_at: datetime) -> None:
        """Note once that Slack does not let the bot post a notice yet; it is tried again until it may."""

        def decide(incident: Incident) -> list[Body]:
            delivery = incident.notices[key].delivery("")
            if delivery is None or delivery.ended is not None or delivery.delayed is not None:
                return []
            return [
                DeliveryDelayed(
                    key=key, to=delivery.address.key, number=1, problem=problem, again_at=again_at,
                    asks=incident.responder,
                )
            ]  # fmt: skip

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
