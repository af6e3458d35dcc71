"""What the journal says of promises: that somebody was reminded, wants to be later, or took over."""

from typing import Literal

from bot.domain.ids import UserId
from bot.domain.record import Record, Utc


class PromiseReminded(Record):
    """The bot reminded of what is due. `moment` is when this reminder was owed, so it is given once."""

    kind: Literal["promise-reminded"] = "promise-reminded"
    what: Literal["next-update", "review", "handover", "thaw", "planned-end", "standing-job"]
    due: Utc
    moment: Utc
    people: tuple[UserId, ...]
    terms: tuple[str, ...] = ()
    """Of a review: the terms that are due."""
    is_unconfigured: bool = False
    """Whether the table was configured no more by then: no notice of it can be previewed."""


class PromiseSnoozed(Record):
    """Not before `until`, please. What consumers were promised stays as it is."""

    kind: Literal["promise-snoozed"] = "promise-snoozed"
    until: Utc


class HandedOver(Record):
    """Somebody else is the responder now, and was told where the incident stands."""

    kind: Literal["handed-over"] = "handed-over"
    to: UserId
    note: str


class HandoverTaken(Record):
    """Whoever was named has it. Any other act of theirs says the same."""

    kind: Literal["handover-taken"] = "handover-taken"


PromiseEntry = PromiseReminded | PromiseSnoozed | HandedOver | HandoverTaken
