"""Who was told: one notice, how far each of its ways has come, and what the audience answered."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.domain import notice_entries as n
from bot.domain.notice import Address, Answer, Notice

_WAITS = (
    timedelta(seconds=10), timedelta(seconds=30), timedelta(minutes=2), timedelta(minutes=5), timedelta(minutes=15),
)  # fmt: skip
MOST_TRIES = len(_WAITS) + 1
"""Then it is given up, and the responder is asked to call them."""
_HEALS_AFTER = (timedelta(minutes=10), timedelta(hours=1), timedelta(hours=4))
"""After a failure whose cause somebody may mend: the bot is invited, a server is back."""


def again_after(tries: int) -> timedelta | None:
    """How long to wait after so many tries; None: it is given up."""
    return _WAITS[tries - 1] if tries < MOST_TRIES else None


def healed_after(times: int) -> timedelta | None:
    """How long after a failure it is tried by itself once more, having been so many times; None: not any more."""
    return _HEALS_AFTER[times] if times < len(_HEALS_AFTER) else None


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
