"""A notice: what one consumer is told, exactly as it was previewed, and by which ways."""

import hashlib
from typing import Literal

from bot.domain.ids import Severity, SnapshotId
from bot.domain.record import Record, Utc

Answer = Literal["acknowledged", "re-ran", "needs-help"]
"""What a consumer can say to a notice."""
WAYS = {"slack": "in Slack", "email": "by e-mail", "webhook": "by webhook", "file": "as a file"}


class Address(Record):
    """One way to one audience."""

    by: Literal["slack", "email", "webhook", "file"]
    to: str
    """Slack channel id, e-mail address, URL or folder."""

    @property
    def key(self) -> str:
        """Unique among the addresses of a notice."""
        return f"{self.by}:{self.to}"

    def __str__(self) -> str:
        shown = f"<#{self.to}>" if self.by == "slack" else self.to
        return f"{WAYS[self.by]} ({shown})"


class NoticeData(Record):
    """The facts of a notice that a program can act on; the text says the same to people."""

    stage: str
    """`investigating`, `diagnosed`, `proposed`, `executing`, `verifying` or `proven`."""
    affected_snapshots: tuple[SnapshotId, ...] = ()
    """Commits that are not, or no longer, to be relied on; full ids, oldest first."""
    affected_from: Utc | None = None
    affected_until: Utc | None = None
    """Commit times of the oldest and the newest of them, both inclusive."""
    trusted_snapshot: SnapshotId | None = None
    """The snapshot to read instead; None where none is proven."""
    reading: str = "unknown"
    """What was seen of this consumer: `read-above`, `read-through`, `not-observed`, `unknown` or `many`."""
    affected_runs: tuple[str, ...] = ()
    """Run ids of this consumer that read an affected commit, themselves or through others."""
    next_word_at: Utc | None = None
    """By when the next notice comes; None: there is none."""


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
    """How bad it was said to be; None in records of earlier versions."""
    data: NoticeData | None = None
    """None in records of earlier versions."""

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
