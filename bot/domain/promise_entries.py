"""What the journal says of promises: that somebody was reminded."""

from typing import Literal

from bot.domain.ids import UserId
from bot.domain.record import Record, Utc


class PromiseReminded(Record):
    """The bot reminded of what is due. `moment` is when this reminder was owed, so it is given once."""

    kind: Literal["promise-reminded"] = "promise-reminded"
    what: Literal["next-update", "review", "thaw", "planned-end", "standing-job"]
    due: Utc
    moment: Utc
    people: tuple[UserId, ...]
    terms: tuple[str, ...] = ()
    """Of a review: the terms that are due."""
    is_unconfigured: bool = False
    """Whether the table was configured no more by then: no notice of it can be previewed."""
