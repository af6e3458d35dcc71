"""What the journal can say about telling consumers; `entries` has them with all the others."""

from typing import Literal

from bot.domain.approval import ApprovalPolicy
from bot.domain.ids import Severity, StepId, UserId
from bot.domain.notice import Answer, Notice
from bot.domain.reads import Untold
from bot.domain.record import Record, Utc


class NoticeQueued(Record):
    """Intent: this very text is to be sent. Unique per notice key in the database."""

    kind: Literal["notice-queued"] = "notice-queued"
    notice: Notice


class DeliveryTried(Record):
    """Intent of one try by one way other than Slack, unique in the database. Without an end after a restart it is not
    known whether it arrived, and it is tried again under the same key."""

    kind: Literal["delivery-tried"] = "delivery-tried"
    key: str
    to: str
    """The address's key: `email:revenue@acme.example`."""
    number: int


class DeliveryDelayed(Record):
    """A try did not arrive; another one follows."""

    kind: Literal["delivery-delayed"] = "delivery-delayed"
    key: str
    to: str
    number: int
    problem: str
    again_at: Utc
    may_be_there: bool = False
    """Whether it may have arrived all the same."""


class NoticeEnded(Record):
    """One way of a notice came to its end."""

    kind: Literal["notice-ended"] = "notice-ended"
    key: str
    how: Literal["delivered", "failed", "overtaken"]
    """`overtaken`: it was not sent (again), as what it says holds no more; nobody needs to be called."""
    detail: str
    to: str = ""
    """The address's key; empty: the Slack channel."""
    asks: UserId | None = None
    """Who is asked to call them, when they could not be reached; or to send it, when a `doubt` is over."""
    may_be_there: bool = False
    """Whether it may have arrived although it failed: its answer was lost."""
    again_at: Utc | None = None
    """When it is tried again by itself, where the cause may mend; None: only if somebody asks for it."""
    doubt: str = ""
    """Why nobody may be told that all is well, where it was `overtaken` by that; empty: by something newer."""
    command: str = ""
    """What sends it once that doubt is over; it is not sent by itself."""


class NoticeRetried(Record):
    """A way that had failed is taken up once more, with the very same text; `by` of the entry asks for it. Unique per
    way and number in the database."""

    kind: Literal["notice-retried"] = "notice-retried"
    key: str
    to: str
    """The address's key."""
    number: int
    """1 for the first time."""


class NoticeAnswered(Record):
    """Somebody answered a notice by a button in Slack; `by` of the entry is who did."""

    kind: Literal["notice-answered"] = "notice-answered"
    key: str
    answer: Answer
    text: str = ""
    asks: UserId | None = None
    """Who is asked to help."""


class LateRunsSeen(Record):
    """Lineage shows runs of this consumer that have read wrong rows, and no notice has named them: it is due for a
    correction until a person sends one or says why not."""

    kind: Literal["late-runs-seen"] = "late-runs-seen"
    consumer: str
    runs: tuple[str, ...]
    """Their ids; of a channel, its readers with how many runs each."""
    asks: UserId | None = None
    """Who is asked to send it."""


class CorrectionDeclined(Record):
    """A person says why these consumers need no correction; `by` of the entry is who does."""

    kind: Literal["correction-declined"] = "correction-declined"
    consumers: tuple[str, ...]
    reason: str


class ObservedReader(Record):
    """A consumer that lineage saw reading an affected commit, itself or through others, whether it is declared."""

    consumer: str
    distance: int
    """1: it read the table itself."""
    runs: int
    is_declared: bool


class ReadersNoted(Record):
    """Who was seen reading when consumers were told. Without an address, nobody but a person can tell them."""

    kind: Literal["readers-noted"] = "readers-noted"
    observed: tuple[ObservedReader, ...]
    unknown: str | None
    """Why others may have read unseen; None: lineage answered, and every run names its snapshot."""
    untold: tuple[Untold, ...] = ()
    """Channels of the data contract that no notice reaches."""


class SeverityChanged(Record):
    kind: Literal["severity-changed"] = "severity-changed"
    before: Severity
    severity: Severity
    reason: str


class NoticesHeld(Record):
    """These previewed notices need a second person, who sends them; `by` of the entry asks for that."""

    kind: Literal["notices-held"] = "notices-held"
    name: str
    """Of the preview."""
    policy: ApprovalPolicy
    step: StepId | None


NoticeEntry = (
    NoticeQueued | DeliveryTried | DeliveryDelayed | NoticeEnded | NoticeRetried | NoticeAnswered | ReadersNoted
    | SeverityChanged | NoticesHeld
    | LateRunsSeen
    | CorrectionDeclined
)  # fmt: skip
"""What tells who was told."""
