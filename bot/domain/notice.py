"""A notice: what one consumer is told, exactly as it was previewed, and by which ways."""

import hashlib
import re
from typing import Literal

from bot.domain.ids import Severity
from bot.domain.record import Documented, Record, Utc
from bot.domain.trust import ExactId

Answer = Literal["acknowledged", "re-ran", "needs-help"]
"""What a consumer can say to a notice."""
WAYS = {"slack": "in Slack", "email": "by e-mail", "webhook": "by webhook", "file": "as a file"}
_HOST = re.compile(r"(https?://)(?:[^/?#\s]*@)?([^/?#\s]*)")
HOW_TO_CORRECT = "/waterline notify correction WORDS"
"""What a responder types to set right what consumers were told, after the incident's end too."""

PLANNED = "planned_work"
"""The notice of planned work; its state says whether it is announced, over or called off."""
WorkState = Literal["planned", "over", "off"]
NO_ACTION = "no_action_needed"
"""The notice that ends an incident in which nothing was wrong."""


class Address(Record):
    """One way to one audience."""

    by: Literal["slack", "email", "webhook", "file"]
    to: str
    """Slack channel id, e-mail address, folder, or a webhook as `hook_name` calls it; its URL in old records."""

    @property
    def key(self) -> str:
        """Unique among the addresses of a notice."""
        return f"{self.by}:{self.to}"

    @property
    def shown(self) -> str:
        """What people read of it."""
        return shown_of(self.by, self.to)

    def __str__(self) -> str:
        shown = f"<#{self.to}>" if self.by == "slack" else self.shown
        return f"{WAYS[self.by]} ({shown})"


def hook_name(url: str) -> str:
    """Scheme, host and a digest: what is kept of a webhook, whose path or query may be all that a sender needs."""
    return f"{hook_host(url)} #{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def hook_host(to: str) -> str:
    """Scheme, host and port of a webhook's URL or name."""
    found = _HOST.match(to)
    return found[1] + found[2] if found is not None else "an address that cannot be read"


def shown_of(by: str, to: str) -> str:
    """What people read of an address of this way."""
    return hook_host(to) if by == "webhook" else to


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
    """The template's name: `first_warning`, `recovered`, …"""
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
