"""What the application asks of the outside world. Adapters answer; nothing else may.

Who is there and what time it is; catalog, storage, lineage and Spark; a job's Flink, checkpoints and broker; what is
kept: the journal, what Slack delivered, what is to be sent; and how notices leave by other ways than Slack.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from bot.incident.entries import Body
from bot.incident.journal import Entry, Line
from bot.incident.notice import Notice
from bot.incident.watch import WatchNote
from bot.observation.contract import CopyRule, TableContract
from bot.observation.evidence import Answer, Ask, Progress, Task
from bot.observation.file_changes import FileList, FileSources, FileSurvey, RowsOfFile
from bot.observation.flink import FlinkManifest, JobRun, RememberedStart, StoredCheckpoint
from bot.observation.ids import IncidentId, JobId, SnapshotId, TableName, UserId
from bot.observation.kafka import KafkaPartition
from bot.observation.readers import Address, FarRead, ReadRun
from bot.observation.record import Record, Utc
from bot.observation.replay import Replay, ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.snapshot import Snapshot
from bot.observation.table import TableState, UnnamedCommit
from bot.observation.written import WriterSource, WrittenSchema


class Directory(Protocol):
    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of these user groups, read now. Raises CouldNotLook."""

    def absent(self, users: Iterable[UserId]) -> frozenset[UserId]:
        """Those of them who are deactivated or unknown now. Raises CouldNotLook."""


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
    new_branches: dict[str, SnapshotId] = {}
    """Branch -> snapshot; refused if anything of that name exists."""
    expected_refs: dict[str, SnapshotId] = {}
    """Compare: branch or tag -> the snapshot on which it must be."""
    remove_refs: tuple[str, ...] = ()
    """Tags or branches; one that is not there is passed over."""
    set_properties: dict[str, str] = {}
    remove_properties: tuple[str, ...] = ()


class FileChange(Record):
    """One atomic commit on a branch that adds and removes data files; no data is written."""

    expected_uuid: str
    ref: str
    expected_head: SnapshotId
    """Compare: the commit is refused unless the branch is exactly here."""
    add: FileList | None
    remove: FileList | None
    summary: dict[str, str]
    """Goes into the snapshot's summary: the mark by which the commit is found again."""


class RowChange(Record):
    """One atomic commit on a branch that deletes rows by file and place."""

    expected_uuid: str
    ref: str
    expected_head: SnapshotId
    """Compare: the commit is refused unless the branch is exactly here."""
    rows: tuple[RowsOfFile, ...]
    summary: dict[str, str]
    """Goes into the snapshot's summary: the mark by which the commit is found again."""


class RowReplay(Record):
    """One commit on a branch that writes rows which were made once more from their source."""

    ref: str
    expected_head: SnapshotId
    """Compare: nothing is written unless the branch is exactly here."""
    replay: Replay
    summary: dict[str, str]
    """Goes into the snapshot's summary: the mark by which the commit is found again."""


class SourceReplays(Protocol):
    """Reads the source of a declared replay, and writes its rows."""

    def survey(
        self, table: TableState, recipe: ReplayRecipe, bounds: ReplayRange, contract: TableContract, copies: CopyRule
    ) -> SourceSurvey:
        """What the source has within the bounds, beside what the table has of it at its head, which it has. Raises
        CouldNotLook. Cost: the source within the bounds, up to the recipe's `most_rows`; the table's columns."""

    def write(self, table: TableState, change: RowReplay) -> None:
        """Write the rows whose key does not live on the branch, in one commit; at most once a call.

        They are made anew and must be the approved ones, by count and digest. Raises CommitRefused, CouldNotLook
        (surely not written) or OutcomeUnknown (look for the summary's mark). Never retried here.
        """


class TableCatalog(Protocol):
    """Iceberg's catalog: metadata and commits, never data."""

    def load(self, table: TableName) -> TableState:
        """The table now. Raises UnknownTable, CouldNotLook."""

    def pointer(self, table: TableName) -> str:
        """Where its newest metadata file is: while it is the same, nothing has changed. Raises UnknownTable,
        CouldNotLook. Cost: one catalog call; no file is opened, however long the table's history."""

    def expired(self, table: TableState) -> tuple[Snapshot, ...]:
        """The commits just below the oldest one that main still lists, oldest first, as far as older metadata files
        tell and down to the newest commit by Flink at least; empty where none of these files is left.

        Cost: one catalog call and most often one file. Raises UnknownTable, CouldNotLook."""

    def unnamed_commits(self, table: TableState) -> tuple[UnnamedCommit, ...]:
        """Commits that only metadata files hold which the table does not name: of the newest such files, as far as its
        log reaches. Refused commits leave such files, too. A `Part` where others may hold such commits.

        Cost: one catalog call, one listing of the metadata folder, and these files. Raises UnknownTable, CouldNotLook.
        """

    def commit(self, table: TableName, change: TableChange) -> TableState:
        """Apply `change` as one compare-and-swap, at most once; returns the table after it.

        Raises CommitRefused or CouldNotLook (both surely not applied; the latter for a reason that may pass) or
        OutcomeUnknown (verify with `load`). Never retried here.
        """

    def survey_files(
        self, table: TableName, ref: str, *, add: FileSources | None, remove: FileSources | None, columns: Sequence[str]
    ) -> FileSurvey:
        """What adding and removing these files on branch `ref` would meet, with the span of `columns`.

        Cost: manifests of the sources; those of the branch that may name them; one request of storage for each file
        that is to be added. Raises UnknownTable, CouldNotLook.
        """

    def change_files(self, table: TableName, change: FileChange) -> SnapshotId:
        """Apply `change` as one compare-and-swap, at most once; returns its snapshot.

        The lists are made anew and must have the approved digest. Raises CommitRefused, CouldNotLook (as `commit`) or
        OutcomeUnknown (look for the summary's mark). Never retried here.
        """

    def delete_rows(self, table: TableName, change: RowChange) -> SnapshotId:
        """Apply `change` as one compare-and-swap, at most once; returns its snapshot.

        Each file must be live on the branch by exactly one reference. Raises as `change_files`.
        """

    def tables(self) -> tuple[TableName, ...]:
        """All tables that the catalog lists. Raises CouldNotLook."""


class TableFiles(Protocol):
    """What lies in a table's folders, whether or not the metadata names it."""

    def flink_manifests(self, table: TableState) -> tuple[FlinkManifest, ...]:
        """Every temporary manifest of Flink's sinks, by run and checkpoint id. Cost: one listing of the metadata
        folder (or `flink.manifests.location`). Raises CouldNotLook."""

    def written_under(self, table: TableState, source: WriterSource) -> WrittenSchema:
        """Under which columns the job wrote what this source names. Cost: at most one manifest list, one manifest and
        the footer of one file. Raises CouldNotLook where it is gone or does not tell it."""


class ReadEvents(Protocol):
    """Lineage: which consumer run read which snapshot."""

    def reads(self, table: TableState, since: datetime) -> tuple[ReadRun, ...]:
        """Runs that read the table after `since` (exclusive), oldest first; a `Part` of them where further events could
        not be read. Raises CouldNotLook."""

    def downstream(self, table: TableState, since: datetime) -> tuple[FarRead, ...]:
        """Runs that read what those runs had written, and what came of that, nearest first; a `Part` as of `reads`.
        Raises CouldNotLook."""


class EvidenceRunner(Protocol):
    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """The task's answer and the bytes that Spark read. Blocks until done; `tag` is unique per run.

        Raises EvidenceFailed (also when Spark died: the next run starts it again), EvidenceCancelled.
        """

    def cancel(self, tag: str) -> bool:
        """Interrupt the run with this tag; False if none runs under it (here)."""

    def probe(self, table: TableState) -> str:
        """Opens one metadata file, one manifest and one data file of the table, as evidence would; says which it read.
        Raises EvidenceFailed."""

    def warm(self) -> None:
        """Start Spark now, so that the first evidence does not wait. Raises EvidenceFailed."""


class Stopped(Record):
    sentence: str
    savepoint: str | None
    """Where the savepoint is that the stop took; None where it took none, or Flink no longer tells."""


class NamedSavepoint(Record):
    """A savepoint that somebody knows of, wherever it lies; not opened."""

    path: str
    at: Utc


class FlinkJobs(Protocol):
    """One Flink cluster, for the job that one table is written by."""

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """Every submission named `job` that Flink still remembers, newest first. Raises CouldNotLook."""

    def runs_of_others(self, job: str, among: Collection[JobId]) -> tuple[JobRun, ...]:
        """Those of these submissions that Flink lists under another name, newest first. Raises CouldNotLook."""

    def run(self, job_id: JobId) -> JobRun | None:
        """One submission; None if Flink does not know it. Raises CouldNotLook.

        Under an id that `start` was given, the run that came of it: where the cluster chooses ids itself, the run's own
        `job_id` is another.
        """

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        """Stop it for good: stop-with-savepoint (never drained) where it still runs healthily, else cancel.

        `needs_state`: a run that runs healthily is never cancelled, and one that is being recovered only where Flink
        keeps its checkpoints then; else it goes on, and CommitRefused says why.
        `keeps_checkpoints`: by a cancel that keeps them, or not at all: Flink deletes them after a stop-with-savepoint.
        A run that is at its end already is left as it is. Safe to repeat. Raises CommitRefused and CouldNotLook (surely
        not stopped), OutcomeUnknown.
        """

    def still_asked_to_stop(self, job_id: JobId) -> str | None:
        """By what run `job_id`, which goes on, may yet come to be stopped without being asked again, a sentence; None
        where nothing is known of that. Raises CouldNotLook."""

    def stop_at_work(self, job_id: JobId) -> str | None:
        """What is known of a stop of run `job_id` that was asked for and has neither ended nor failed, a sentence; None
        where there is none. Asking again follows it. Raises CouldNotLook."""

    def obstacle(self, job: str) -> str | None:
        """What would keep a start from being accepted, as a clause; None where nothing is known of any. Asked before
        anything is stopped. Raises CouldNotLook, also where the way to start it cannot be reached."""

    def declaration(self, job: str) -> str | None:
        """A digest of what a start submits beside restore point and job id: another one, and something
        else would be started. None where no start is configured. Raises CouldNotLook."""

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """Submit the job from restore point `path` under the id `job_id`, which Flink accepts only once.

        State of operators that the job no longer has is an error.
        Returns when Flink knows the run. Raises CommitRefused (Flink said no) and CouldNotLook (nobody answered), both
        surely not submitted, and OutcomeUnknown.
        """

    def still_asked_to_start(self, job_id: JobId) -> str | None:
        """By what a start under `job_id`, of which there is no run, may yet come to be without being asked for again, a
        sentence; None where nothing is known of that. Raises CouldNotLook."""


class PastRuns(Protocol):
    """Where runs are remembered that the cluster has forgotten: Flink's history server."""

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        """The newest submissions named `job` that have ended and are not among `known`, newest first, each marked
        `from_history`. Raises CouldNotLook."""

    def past_run(self, job_id: JobId) -> JobRun | None:
        """One submission that has ended; None if it is not remembered (yet). Raises CouldNotLook."""


class CheckpointStore(Protocol):
    def stored(self, job: str, runs: Sequence[JobId]) -> tuple[StoredCheckpoint, ...]:
        """Every restore point under the job's folders, newest first; of retained checkpoints only those of
        `runs` (empty: all). An unreadable one is listed with its problem. Raises CouldNotLook."""

    def read(self, path: str) -> StoredCheckpoint:
        """One restore point. Raises NotThere if there is none, CouldNotLook if nobody can tell."""

    def may_hold(self, path: str) -> bool:
        """Whether this path lies on the storage of the job's folders: a path that Flink names may be read then."""

    def outlasts(self, path: str) -> bool:
        """Whether this restore point is still there some seconds after its owner may have ended: Flink tells that a run
        has ended before it deletes. Returns as soon as it is gone. Raises CouldNotLook."""


class KafkaBroker(Protocol):
    def partitions(self) -> tuple[KafkaPartition, ...]:
        """Every partition of the topics that the job reads, by topic and number. Raises CouldNotLook."""


@dataclass(frozen=True)
class JobPorts:
    """Where one job can be asked and driven, and where it keeps its state."""

    flink: FlinkJobs
    checkpoints: CheckpointStore
    history: PastRuns | None = None
    """None: no history server is configured, and none is missed."""
    kafka: KafkaBroker | None = None
    """None: no broker is configured for the job."""
    snapshots: Callable[[], tuple[NamedSavepoint, ...]] | None = None
    """Savepoints of the job that the Flink operator keeps resources of (FlinkStateSnapshot), in no order; None: no
    operator runs the job. Raises CouldNotLook."""


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
