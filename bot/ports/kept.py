"""What the application keeps: the journal, what Slack delivered, what is to be sent."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime, timedelta
from typing import Protocol

from bot.incident.entries import Body
from bot.incident.journal import Entry, Line
from bot.incident.watch import WatchNote
from bot.observation.flink import RememberedStart
from bot.observation.ids import IncidentId, TableName, UserId
from bot.observation.record import Record


class Journal(Protocol):
    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        """Begin a new incident: the first entry, under the next free incident id."""

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """Add entries after `after_seq`, all or none. Raises JournalMoved if that is not the last entry, and
        Refused if a body may exist only once (see `once_key`) and does."""

    def entries(self, incident: IncidentId, after_seq: int = 0) -> tuple[Entry, ...]:
        """The entries of one incident after `after_seq`, by rising seq; empty if there is none."""

    def lines(self, incident: IncidentId) -> tuple[Line, ...]:
        """The same entries as the texts that were hashed: what a file needs to be proven without the database."""

    def ends(self) -> Mapping[IncidentId, int]:
        """The seq of each incident's last entry, oldest incident first: whether others have written meanwhile."""


class Delivery(Record):
    """One thing that Slack delivered, as stored before it was acknowledged."""

    key: str
    """The same for a redelivery of the same thing."""
    kind: str
    """`command`, `block_actions`, `view_submission`, `event`, …"""
    payload: str
    """The body as JSON."""
    received_at: datetime
    attempts: int = 0
    written: int = 0
    """Entries that earlier attempts have added to the journal in a person's name: then it is not done again, unless it
    sees by itself how far it had come."""
    claim: str = ""
    """By which it is taken now: what another claim has taken meanwhile is left to that one."""


class Inbox(Protocol):
    """What was delivered and is not yet worked on; survives a crash."""

    def put(self, delivery: Delivery) -> bool:
        """Store it; False if this key is known already. Fast: this happens before Slack's 3 s are up."""

    def claim(self, now: datetime) -> Delivery | None:
        """The oldest delivery that nobody works on, now marked as taken; it comes back if this process dies."""

    def waits_since(self) -> datetime | None:
        """When the oldest one came that is not worked on to its end; None: there is none."""

    def tied(self, delivery: Delivery) -> AbstractContextManager[None]:
        """What this thread adds to the journal in the block in a person's name, and not in the bot's own, is counted
        with the delivery, all or nothing."""

    def give_back(self, delivery: Delivery, *, was_tried: bool) -> None:
        """It could not be worked on to its end: it is claimed again."""

    def done(self, delivery: Delivery, problem: str | None = None) -> None:
        """It was worked on; `problem` is the reference id and sentence of a failure."""


class Post(Record):
    """One message of the bot in Slack, or one that is to be there: a row of the outbox."""

    key: str
    """Names the message for ever: `wl-1/card`, `wl-1/notice/warning/revenue_daily/1`."""
    incident: IncidentId | None
    channel: str
    thread_of: str | None = None
    """Key of the post whose thread this one belongs to."""
    user: UserId | None = None
    """Set for an ephemeral message: only this person sees it; never updated."""
    text: str | None = None
    """Set for a message whose text is fixed (notices, answers); None: rendered from the journal when sent."""
    ts: str | None = None
    """Slack's id of the message once it is sent."""
    wanted: int = 1
    """Revision that should be shown."""
    shown: int = 0
    """Revision that Slack last accepted."""
    state: str = "queued"
    """queued | sending | sent | failed."""
    tries: int = 0
    problem: str | None = None


LONGEST_WAIT = timedelta(minutes=15)
"""Of a post, or a channel's pause. One that is longer was written under a clock that has been put back since: it is not
believed."""


class Outbox(Protocol):
    """Every message before it is sent. Updates of one message are coalesced to the newest revision."""

    def put(self, post: Post) -> bool:
        """Add a message; False if its key exists (then nothing changes)."""

    def touch(self, key: str) -> None:
        """What the message shows has changed: one more revision is wanted. Unknown keys are ignored."""

    def claim(self, now: datetime) -> Post | None:
        """The next post that wants sending, marked `sending`, in a channel that neither pauses nor is being sent to.
        What one person alone is to see does not wait for a pause.

        If this process dies it is queued again, with its tries: it may or may not have arrived.
        """

    def sent(self, key: str, revision: int, ts: str | None, *, pause_until: datetime | None = None) -> None:
        """Slack accepted this revision; its channel takes no other message before `pause_until`. What one person alone
        sees begins no pause, and no pause is cut short."""

    def postpone(self, key: str, until: datetime, problem: str, *, whole_channel: bool) -> None:
        """Not now (429, network): try again at `until`; `whole_channel` pauses all posts of its channel."""

    def failed(self, key: str, revision: int, problem: str) -> None:
        """Slack does not accept this revision (channel gone, bad blocks); shown in the incident, not repeated. If a
        newer one is wanted by now, the post is queued again."""

    def again(self, key: str) -> None:
        """Send what has failed, or fails right now, once more, as if it had not been tried the last time; a post that
        is queued or sent stays as it is."""

    def waits_since(self) -> datetime | None:
        """Since when the oldest post waits that is queued or being sent; None: there is none."""

    def find(self, key: str) -> Post | None:
        """One post."""


class Cursor(Protocol):
    """How far a projection of the journal has come; survives a crash."""

    def get(self, name: str, incident: IncidentId) -> int:
        """Last seq that was projected; 0 at first."""

    def all(self, name: str) -> dict[IncidentId, int]:
        """The same of every incident of which any was projected."""

    def set(self, name: str, incident: IncidentId, seq: int) -> None:
        """Remember it."""


class WatchNotes(Protocol):
    """What the watch remembers; survives a crash, and is one for all replicas."""

    def add(self, note: WatchNote) -> bool:
        """Keep it; False if a note of its key is there already (then nothing changes)."""

    def of(self, table: TableName) -> tuple[WatchNote, ...]:
        """Every note about a table, in the order of being added."""

    def find(self, key: str) -> WatchNote | None:
        """One note by its key (`note_key`)."""


class SeenStarts(Protocol):
    """Starts of jobs that were once seen in Flink; survives a crash, and is one for all replicas."""

    def add(self, start: RememberedStart) -> None:
        """Keep it; one that is known already is known better after it. Above `MOST_STARTS` of a job the oldest go.
        Raises CouldNotKeep."""

    def of(self, job: str) -> tuple[RememberedStart, ...]:
        """Those of a job, by when each was first seen. Raises CouldNotKeep."""
