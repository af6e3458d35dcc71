"""A notice: what one consumer is told, as it was previewed, and by which ways; with its entries in the journal."""

import hashlib
from collections.abc import Mapping
from typing import Literal, NamedTuple

from bot.incident.approval import ApprovalPolicy
from bot.observation.ids import ExactId, Severity, StepId, UserId
from bot.observation.readers import Address, Untold
from bot.observation.record import Documented, Record, Utc

Answer = Literal["acknowledged", "re-ran", "needs-help"]
"""What a consumer can say to a notice."""


HOW_TO_CORRECT = "/waterline notify correction WORDS"
"""What a responder types to set right what consumers were told, after the incident's end too."""


PLANNED = "planned_work"
"""The notice of planned work; its state says whether it is announced, over or called off."""


WorkState = Literal["planned", "over", "off"]


NO_ACTION = "no_action"
"""The notice that ends an incident in which nothing was wrong."""


class NoticeKind(NamedTuple):
    """What a kind of notice does. Its text is a template in `messages/`; one that is not in `KINDS` does nothing more
    than to say it."""

    warns: bool = False
    """It calls the table under review."""
    is_all_clear: bool = False
    """After it consumers read the table as usual, and nothing more is promised."""
    is_once: bool = False
    """It is sent once an incident; each of the others as often as it is asked for, as a further revision. An all-clear
    is given anew when the trust was taken back since; any of them, when it was overtaken before it arrived."""
    is_after_close: bool = False
    """It may be sent when the incident has ended; of planned work only its end."""
    is_beside: bool = False
    """It says nothing of the next update: what was promised before it still is."""
    is_of_rows: bool = True
    """It says something of the table's rows, so that another notice may be read in its place."""
    overtakes: tuple[str, ...] = ()
    """Earlier notices of these kinds need not be heard after it; those of its own kind never need to be."""
    overtakes_all: bool = False
    """The same of every kind of this table that is of rows: it says how the whole table stands, what was wrong and what
    is to be done. A correction repeats the words of those before it that have not come."""


KINDS: Mapping[str, NoticeKind] = {
    "warning": NoticeKind(warns=True, is_once=True, overtakes=(PLANNED,)),
    "update": NoticeKind(warns=True, overtakes=(PLANNED, "warning")),
    "recovered": NoticeKind(is_all_clear=True, is_once=True, overtakes_all=True),
    NO_ACTION: NoticeKind(is_all_clear=True, is_once=True, overtakes_all=True),
    "correction": NoticeKind(is_after_close=True, overtakes_all=True),
    PLANNED: NoticeKind(is_after_close=True, is_beside=True),
    "review": NoticeKind(is_once=True, is_after_close=True, is_beside=True, is_of_rows=False),
}
"""By name of the template."""
WARNS = frozenset(name for name, kind in KINDS.items() if kind.warns)
ALL_CLEAR = frozenset(name for name, kind in KINDS.items() if kind.is_all_clear)
ONCE = frozenset(name for name, kind in KINDS.items() if kind.is_once)
AFTER_CLOSE = frozenset(name for name, kind in KINDS.items() if kind.is_after_close)
BESIDE = frozenset(name for name, kind in KINDS.items() if kind.is_beside)
NOT_OF_ROWS = frozenset(name for name, kind in KINDS.items() if not kind.is_of_rows)


class RerunData(Documented):
    """Whether this consumer must run again, and what it has to compute anew."""

    needed: bool | None = None
    """null: not known, or not yet; look at the text."""
    runs: tuple[str, ...] = ()
    """Run ids of this consumer whose results are to be replaced."""
    read_snapshots: tuple[ExactId, ...] = ()
    """Every wrong snapshot that they read, themselves or through others; oldest first."""
    from_snapshot: ExactId | None = None
    """The last good snapshot: an incremental reader drops what came after it, and reads again from it (exclusive)."""
    resume_after: ExactId | None = None
    """Instead of `from_snapshot`, where the wrong commits are still in the table's history: read this snapshot whole,
    and go on after it."""
    event_from: Utc | None = None
    """Lowest event time to be computed again (inclusive); null: not known, assume any."""
    event_until: Utc | None = None
    """Highest one (inclusive)."""
    partitions: tuple[str, ...] = ()
    """Partitions to be computed again, in words; empty: not partitioned, or not known."""


class NoticeData(Documented):
    """The facts of a notice that a program can act on; the text says the same to people.

    Snapshot ids are text, as JavaScript would round 64 bits.
    """

    stage: str
    """`investigating`, `diagnosed`, `proposed`, `executing`, `verifying` or `proven`."""
    affected_snapshots: tuple[ExactId, ...] = ()
    """Commits that are not, or no longer, to be relied on; full ids, oldest first."""
    affected_from: Utc | None = None
    """Commit time of the oldest of them (inclusive)."""
    affected_until: Utc | None = None
    """Commit time of the newest of them (inclusive)."""
    affected_event_from: Utc | None = None
    """Lowest event time of the rows that they added (inclusive); null: not known of all of them."""
    affected_event_until: Utc | None = None
    """Highest one (inclusive)."""
    affected_partitions: tuple[str, ...] = ()
    """In which partitions they are, in words; ••• where the contract hides the column. Empty: not partitioned, or not
    known."""
    keys_repeated: int | None = None
    """Keys that had more than one row; null: not counted."""
    keys_changed: int | None = None
    """Keys whose row had other values than before; null: not counted."""
    keys_gone: int | None = None
    """Keys that were there before, and were gone; null: not counted."""
    trusted_snapshot: ExactId | None = None
    """The snapshot to read instead; None where none is proven, or the one that was cannot be read any more."""
    reading: str = "unknown"
    """What was seen of this consumer: `read-above`, `read-through`, `not-observed`, `unknown` or `many`."""
    affected_runs: tuple[str, ...] = ()
    """Run ids of this consumer that read an affected commit, themselves or through others."""
    rerun: RerunData | None = None
    next_word_at: Utc | None = None
    """By when the next notice comes; None: this is the last one, the incident is closed, or the next one has no time,
    as after `planned_work`."""
    work: WorkState | None = None
    """In `planned_work`: whether the work is planned, over or off; null in other notices."""
    over_by: Utc | None = None
    """In `planned_work`: when the work is expected to be over; null: not said."""


class Notice(Record):
    """One message for one audience. Sent once per `key`, by each of its ways."""

    kind: str
    """The template's name: `warning`, `recovered`, …"""
    revision: int
    consumer: str
    channel: str
    """Slack channel id; empty where the audience is not told in Slack."""
    text: str
    """Slack mrkdwn, rendered; this very text is sent. Other ways show the same in their own form."""
    title: str = ""
    """The template's title: the subject of a mail begins with it."""
    ways: tuple[Address, ...] = ()
    """The ways beside Slack."""
    answers: tuple[Answer, ...] = ()
    """What the audience can answer."""
    severity: Severity | None = None
    """How bad it was said to be."""
    words: str = ""
    """What a responder added to this very notice."""
    data: NoticeData | None = None

    @property
    def ends_work(self) -> bool:
        """Whether it says that planned work is over, or called off."""
        return self.kind == PLANNED and self.data is not None and self.data.work in ("over", "off")

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Every way, Slack first."""
        return ((Address(by="slack", to=self.channel),) if self.channel else ()) + self.ways

    def key(self, incident_id: str) -> str:
        """Unique per incident, notice, audience and revision."""
        return f"{incident_id}/{self.kind}/{self.consumer}/{self.revision}"


def sending_key(notice_key: str, to: str) -> str:
    """The same for every try to send this notice to the address of key `to`: Message-ID and idempotency key are made
    of it."""
    return hashlib.sha256(f"{notice_key}\n{to}".encode()).hexdigest()[:32]


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
    asks: UserId | None = None
    """Who is asked to call them meanwhile: where the bot may not post yet."""


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
