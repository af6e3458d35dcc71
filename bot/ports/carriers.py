"""How notices leave by other ways than Slack."""

from datetime import datetime
from typing import Protocol

from bot.domain.ids import IncidentId, TableName
from bot.domain.notice import Address, Answer, Notice
from bot.domain.record import Record


class Parcel(Record):
    """One try to bring one notice to one address."""

    key: str
    """The same for every try: receivers can tell a repetition by it."""
    notice: Notice
    address: Address
    incident: IncidentId
    table: TableName
    private: bool
    number: int
    """1 for the first try."""
    may_be_there: bool
    """Whether an earlier try may have arrived without our knowing."""
    at: datetime
    answer_url: str | None = None
    """A link by which the audience answers: a secret between it and us, never written down here."""


class Receipt(Record):
    """It arrived."""

    detail: str
    """What the other side said, for the record."""
    answer: Answer | None = None
    """What a program answered at once."""
    words: str = ""
    unread: str = ""
    """A sentence, where it answered something that could not be taken for an answer."""


class Carrier(Protocol):
    """One way: e-mail, webhook or file."""

    def carry(self, parcel: Parcel) -> Receipt:
        """Bring it there, at most one try. Blocks until it is known, within a time limit.

        Raises NotDelivered; where it is not known whether it arrived, its `may_be_there` says so.
        """
