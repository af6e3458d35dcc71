"""What the application asks of the outside world. Adapters answer; nothing else may."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from bot.domain.entries import Body
from bot.domain.evidence import Answer, Ask, Progress, Task
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.ids import IncidentId, JobId, SnapshotId, TableName, UserId
from bot.domain.journal import Entry
from bot.domain.reads import ReadRun
from bot.domain.record import Record
from bot.domain.table import TableState


class TableChange(Record):
    """One atomic commit of refs and properties. Nothing in it writes data."""

    expected_uuid: str
    expected_head: SnapshotId | None
    """Compare: the commit is refused unless `main` is exactly here; sent to the catalog as requirement.
    None only for a change of tags and properties, which may not care how far the writer has come."""
    move_main_to: SnapshotId | None = None
    set_tags: dict[str, SnapshotId] = {}
    """Tag -> snapshot; a tag that exists is moved."""
    new_tags: dict[str, SnapshotId] = {}
    """Tag -> snapshot; refused if the tag exists on another snapshot; kept if it is on this one."""
    remove_tags: tuple[str, ...] = ()
    set_properties: dict[str, str] = {}
    remove_properties: tuple[str, ...] = ()


class TableCatalog(Protocol):
    """Iceberg's catalog: metadata and commits, never data."""

    def load(self, table: TableName) -> TableState:
        """The table now. Raises UnknownTable, CouldNotLook."""

    def commit(self, table: TableName, change: TableChange) -> TableState:
        """Apply `change` as one compare-and-swap, at most once; returns the table after it.

        Raises CommitRefused (surely not applied) or OutcomeUnknown (verify with `load`). Never retried here.
        """

    def tables(self) -> tuple[TableName, ...]:
        """All tables that the catalog lists. Raises CouldNotLook."""


class FlinkJobs(Protocol):
    """One Flink cluster, for the job that one table is written by."""

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """Every submission named `job` that Flink still remembers, newest first. Raises CouldNotLook."""

    def run(self, job_id: JobId) -> JobRun | None:
        """One submission; None if Flink does not know it. Raises CouldNotLook."""

    def stop(self, job: str, job_id: JobId) -> str:
        """Stop it for good: stop-with-savepoint (never drained) where it still runs healthily, else cancel.

        Returns a sentence: how it ended, and the savepoint's path if there is one. A run that is at its end
        already is left as it is. Safe to repeat. Raises CouldNotLook, OutcomeUnknown.
        """

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """Submit the job from restore point `path` under the id `job_id`, which Flink accepts only once.

        Returns when Flink knows the run. Raises CouldNotLook (surely not submitted), OutcomeUnknown.
        """


class CheckpointStore(Protocol):
    """Savepoints and retained checkpoints on storage."""

    def stored(self, job: str, runs: Sequence[JobId]) -> tuple[StoredCheckpoint, ...]:
        """Every restore point under the job's folders, newest first; of retained checkpoints only those of
        `runs` (empty: all). An unreadable one is listed with its problem. Raises CouldNotLook."""

    def read(self, path: str) -> StoredCheckpoint:
        """One restore point. Raises CouldNotLook if there is none."""


class ReadEvents(Protocol):
    """Lineage: which consumer run read which snapshot."""

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """Runs that read the table after `since` (exclusive), oldest first. Raises CouldNotLook."""


class EvidenceRunner(Protocol):
    """Runs one evidence task on Spark."""

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """The task's answer and the bytes that Spark read. Blocks until done; `tag` is unique per run.

        Raises EvidenceFailed (also when Spark died: the next run starts it again), EvidenceCancelled.
        """

    def cancel(self, tag: str) -> bool:
        """Interrupt the run with this tag; False if none runs under it (here)."""

    def warm(self) -> None:
        """Start Spark now, so that the first evidence does not wait. Raises EvidenceFailed."""


class Journal(Protocol):
    """The append-only record."""

    def open(self, body: Body, *, by: str, at: datetime) -> Entry:
        """Begin a new incident: the first entry, under the next free incident id."""

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """Add entries after `after_seq`, all or none. Raises JournalMoved if that is not the last entry, and
        Refused if a body may exist only once (see `once_key`) and does."""

    def entries(self, incident: IncidentId, after_seq: int = 0) -> tuple[Entry, ...]:
        """The entries of one incident after `after_seq`, by rising seq; empty if there is none."""

    def incidents(self) -> tuple[IncidentId, ...]:
        """Every incident, oldest first."""


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


class Inbox(Protocol):
    """What was delivered and is not yet worked on; survives a crash."""

    def put(self, delivery: Delivery) -> bool:
        """Store it; False if this key is known already. Fast: this happens before Slack's 3 s are up."""

    def claim(self, now: datetime) -> Delivery | None:
        """The oldest delivery that nobody works on, now marked as taken. Taken ones come back when the
        worker's process ended (at start, or after five minutes)."""

    def done(self, key: str, problem: str | None = None) -> None:
        """It was worked on; `problem` is the reference id and sentence of a failure."""

    def release_all(self) -> int:
        """At start: give back what a dead worker had taken. Returns how many."""


class Post(Record):
    """One message of the bot in Slack, or one that is to be there: a row of the outbox."""

    key: str
    """Names the message for ever: `wl-1/card`, `wl-1/notice/first_warning/revenue_daily/1`."""
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


class Outbox(Protocol):
    """Every message before it is sent. Updates of one message are coalesced to the newest revision."""

    def put(self, post: Post) -> bool:
        """Add a message; False if its key exists (then nothing changes)."""

    def touch(self, key: str) -> None:
        """What the message shows has changed: one more revision is wanted. Unknown keys are ignored."""

    def claim(self, now: datetime) -> Post | None:
        """The next post that wants sending and whose channel is not pausing, marked `sending`."""

    def sent(self, key: str, revision: int, ts: str | None) -> None:
        """Slack accepted this revision."""

    def postpone(self, key: str, until: datetime, problem: str, *, whole_channel: bool) -> None:
        """Not now (429, network): try again at `until`; `whole_channel` pauses all posts of its channel."""

    def failed(self, key: str, problem: str) -> None:
        """Slack will never accept it (channel gone, bad blocks); shown in the incident, not repeated."""

    def find(self, key: str) -> Post | None:
        """One post."""

    def interrupted(self) -> tuple[Post, ...]:
        """At start: posts that were being sent when the process ended; each may or may not have arrived."""


class Cursor(Protocol):
    """How far a projection of the journal has come; survives a crash."""

    def get(self, name: str, incident: IncidentId) -> int:
        """Last seq that was projected; 0 at first."""

    def set(self, name: str, incident: IncidentId, seq: int) -> None:
        """Remember it."""


class Directory(Protocol):
    """Who is who in the workspace."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of these user groups, read now. Raises CouldNotLook."""


class Clock(Protocol):
    """The time, so that tests need not wait."""

    def now(self) -> datetime:
        """Aware, UTC."""


class Timers(Protocol):
    """Things to do later. Late is better than lost: rebuilt from the journal at start."""

    def at(self, key: str, when: datetime, do: Callable[[], None]) -> None:
        """Call `do` at `when` (at once if past); the same key replaces an earlier one."""

    def every(self, key: str, seconds: float, do: Callable[[], None]) -> None:
        """Call `do` again and again."""

    def cancel(self, key: str) -> None:
        """Forget it; unknown keys are ignored."""


Tasks = Mapping[str, Task]
"""Task name -> declaration, of every module found in `spark_tasks/`."""
