"""Who was told: one notice, how far each of its ways has come, and what the audience answered."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, assert_never

from bot.incident import notice as n
from bot.incident.notice import Answer, Notice
from bot.observation.ids import UserId
from bot.observation.readers import Address

if TYPE_CHECKING:
    from bot.incident.incident import Incident
    from bot.incident.journal import Entry
    from bot.incident.notice import Notice


_WAITS = (
    timedelta(seconds=10), timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=5), timedelta(minutes=15),
    timedelta(hours=1),
)  # fmt: skip


MOST_TRIES = len(_WAITS) + 1
"""Then it is given up, and the responder is asked to call them."""


def again_after(tries: int) -> timedelta | None:
    """How long to wait after so many tries; None: it is given up."""
    return _WAITS[tries - 1] if tries < MOST_TRIES else None


@dataclass
class DeliveryView:
    address: Address
    tries: int = 0
    tried_at: datetime | None = None
    delayed: n.DeliveryDelayed | None = None
    """How the newest try went; None: it has no end yet."""
    ended: n.NoticeEnded | None = None
    ended_at: datetime | None = None
    tries_before: int = 0
    """Of `tries`, those before it was taken up again."""
    retried: list[str] = field(default_factory=list)
    """By whom it was taken up again after it had failed, oldest first."""
    retried_at: datetime | None = None
    may_have_been_there: bool = False
    """Whether it may have arrived before it was taken up again."""

    @property
    def has_failed(self) -> bool:
        """Whether it is at its end, and nobody was reached."""
        return self.ended is not None and self.ended.how == "failed"

    @property
    def may_be_there(self) -> bool:
        """Whether a try may have arrived without our knowing: it was cut short, or its answer was lost."""
        if self.ended is not None:
            return False
        if self.tries == self.tries_before:
            return self.may_have_been_there
        return self.may_have_been_there or self.delayed is None or self.delayed.may_be_there

    @property
    def may_have_come(self) -> bool:
        """Whether it arrived by this way, or may have."""
        return self.may_be_there or (
            self.ended is not None and (self.ended.how == "delivered" or self.ended.may_be_there)
        )

    def due_at(self, queued_at: datetime) -> datetime | None:
        """When it is to be tried (again); None when it is at its end. Slack's own outbox looks after Slack."""
        if self.ended is not None or self.address.by == "slack":
            return None
        return self.delayed.again_at if self.delayed is not None else self.retried_at or queued_at


@dataclass(frozen=True)
class AnswerView:
    answer: Answer
    text: str
    by: str
    at: datetime


@dataclass
class NoticeView:
    """One queued notice: where it is to go, whether it arrived, and what was answered."""

    notice: Notice
    key: str
    queued_at: datetime
    seq: int
    """Of the entry that queued it: its short name in buttons."""
    deliveries: dict[str, DeliveryView] = field(default_factory=dict)
    """The address's key -> how far it has come, Slack first."""
    answers: list[AnswerView] = field(default_factory=list)

    @property
    def ended(self) -> n.NoticeEnded | None:
        """Of a way that failed, else of the last way; None while any way is under way."""
        ends = [delivery.ended for delivery in self.deliveries.values()]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends) or not known:
            return None
        return next((end for end in known if end.how == "failed"), known[-1])

    @property
    def unreached(self) -> tuple[DeliveryView, ...]:
        """Ways by which the audience could not be reached."""
        return tuple(d for d in self.deliveries.values() if d.has_failed)

    @property
    def given_up(self) -> tuple[DeliveryView, ...]:
        """Ways by which it was not sent (again), as it did not hold when it was their turn."""
        return tuple(d for d in self.deliveries.values() if d.ended is not None and d.ended.how == "overtaken")

    @property
    def was_overtaken(self) -> bool:
        """Whether it was given up because it held no more, and by no way can it have reached the audience."""
        return bool(self.given_up) and not self.may_have_come

    @property
    def may_have_come(self) -> bool:
        """Whether it arrived, or may have, by any way."""
        return any(way.may_have_come for way in self.deliveries.values())

    def delivery(self, key: str) -> DeliveryView | None:
        """By the address's key; empty stands for Slack."""
        slack = next((d for d in self.deliveries.values() if d.address.by == "slack"), None)
        return self.deliveries.get(key) if key else slack


def queued(notice: Notice, key: str, at: datetime, seq: int) -> NoticeView:
    """The view of a fresh notice. One without any address counts as addressed to Slack, as all once were."""
    addresses = notice.addresses or (Address(by="slack", to=""),)
    return NoticeView(
        notice=notice, key=key, queued_at=at, seq=seq, deliveries={each.key: DeliveryView(each) for each in addresses}
    )


def follow(view: NoticeView, body: n.DeliveryTried | n.DeliveryDelayed | n.NoticeEnded, at: datetime) -> None:
    delivery = view.delivery(body.to)
    if delivery is None:
        return
    match body:
        case n.DeliveryTried():
            delivery.tries, delivery.tried_at, delivery.delayed = body.number, at, None
        case n.DeliveryDelayed():
            delivery.delayed = body
        case n.NoticeEnded():
            delivery.ended, delivery.ended_at = body, at


def take_up(view: NoticeView, body: n.NoticeRetried, by: str, at: datetime) -> None:
    """One way that had failed is tried anew, from its first try on."""
    delivery = view.delivery(body.to)
    if delivery is None:
        return
    delivery.may_have_been_there |= delivery.ended is not None and delivery.ended.may_be_there
    delivery.tries_before, delivery.delayed = delivery.tries, None
    delivery.ended = delivery.ended_at = None
    delivery.retried_at = at
    delivery.retried.append(by)


@dataclass
class HeldView:
    """Notices that a second person sends, or has sent."""

    name: str
    held: n.NoticesHeld
    asked_by: UserId
    asked_at: datetime
    sent_by: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether nobody has sent them."""
        return self.sent_by is None


def next_word_by(notices: Iterable["Notice"]) -> datetime | None:
    """The earliest next word that they promise; None: they promise none."""
    promised = [each.data.next_word_at for each in notices if each.data is not None]
    return min((at for at in promised if at is not None), default=None)


def apply_notice(incident: "Incident", entry: "Entry", body: n.NoticeEntry) -> None:  # noqa: C901 - one case a kind
    """Follow who was told, and what they said."""
    match body:
        case n.NoticeQueued():
            key = body.notice.key(incident.id)
            incident.notices[key] = queued(body.notice, key, entry.at, entry.seq)
            _told_late(incident, (body.notice,))
            for view in incident.held.values():
                if body.notice in incident.previews.get(view.name, ()):
                    view.sent_by = entry.by
        case n.DeliveryTried() | n.DeliveryDelayed() | n.NoticeEnded():
            follow(incident.notices[body.key], body, entry.at)
        case n.NoticeRetried():
            take_up(incident.notices[body.key], body, entry.by, entry.at)
        case n.NoticeAnswered():
            incident.notices[body.key].answers.append(
                AnswerView(answer=body.answer, text=body.text, by=entry.by, at=entry.at)
            )
        case n.LateRunsSeen():
            incident.late_runs[body.consumer] = frozenset(body.runs)
        case n.CorrectionDeclined():
            for consumer in body.consumers:
                runs = incident.late_runs.pop(consumer, frozenset())
                incident.declined_runs[consumer] = incident.declined_runs.get(consumer, frozenset()) | runs
                incident.declined_at[consumer] = entry.seq
        case n.ReadersNoted():
            incident.readers = body
        case n.SeverityChanged():
            incident.severity_now = body.severity
        case n.NoticesHeld():
            incident.held[body.name] = HeldView(name=body.name, held=body, asked_by=UserId(entry.by), asked_at=entry.at)
            _told_late(incident, incident.previews.get(body.name, ()))
        case _:
            assert_never(body)


def _told_late(incident: "Incident", notices: Iterable["Notice"]) -> None:
    """No correction is due any more to those who are sent one, or the closing message anew, or whose correction waits
    for a second person."""
    for notice in notices:
        if notice.kind == "recovered" or asks_to_run_again(notice):
            incident.late_runs.pop(notice.consumer, None)


def asks_to_run_again(notice: "Notice") -> bool:
    """Whether it is a correction of a table that was proven: while it is in doubt nobody is asked to run again."""
    return notice.kind == "correction" and notice.data is not None and notice.data.stage == "proven"
