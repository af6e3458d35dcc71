"""How notices leave by other ways than Slack."""

from datetime import datetime
from typing import Protocol

from bot.incident.notice import Notice
from bot.observation.ids import IncidentId, TableName
from bot.observation.readers import Address
from bot.observation.record import Record


class NoticeDelivery(Record):
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


class DeliveryResult(Record):
    detail: str
    """What the other side said, for the record."""


class Transport(Protocol):
    def send(self, outgoing: NoticeDelivery) -> DeliveryResult:
        """Bring it there, at most one try. Blocks until it is known, within a time limit.

        Raises NotDelivered; where it is not known whether it arrived, its `may_be_there` says so.
        """
