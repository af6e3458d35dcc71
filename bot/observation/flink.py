"""What Flink says of its job runs, and what its checkpoint files say of themselves.

Which of a commit and a restore came first: a snapshot bears the clock of who committed it, a restore that of the
JobManager, and the two may differ by seconds. Flink triggers checkpoints and restores by one clock, so the checkpoint
that a commit carries orders it where Flink still lists it. Where it does not, two times that lie closer than clocks may
differ tell nothing.

What made a job fail, where neither its state nor the table did, is a right, a quota, a disk, a lock, memory or a
service. A restore fails again for the same reason. A cause that is not known here is quoted as Flink says it.

A job may write several tables (a dynamic sink, two sinks): its committers' state then lists the Flink manifests of all.
"""

import hashlib
import re
from collections.abc import Iterable
from datetime import timedelta
from enum import StrEnum
from typing import NamedTuple

from pydantic import Field

from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.observation.paths import ByPath, may_be_same
from bot.observation.record import Record, Utc
from bot.observation.table import Snapshot, TableState

V1_COMMITTER = "IcebergFilesCommitter"
"""In the name of the V1 sink's vertex; where it runs as one task with the writer, behind ` -> `."""


class CheckpointKind(StrEnum):
    """How a point of the job's state came to be; decides whether it can pair (facts 0.5)."""

    CHECKPOINT = "checkpoint"
    SAVEPOINT = "savepoint"
    """Intermediate: the job went on; does not commit by itself."""
    STOP_SAVEPOINT = "stop-savepoint"
    """Stop-with-savepoint: committed as the job's last act."""
    UNKNOWN = "unknown"


class CompletedCheckpoint(Record):
    """One entry of `/jobs/:id/checkpoints` history; the history keeps only the newest ten or so."""

    checkpoint_id: CheckpointId
    kind: CheckpointKind
    status: str
    """COMPLETED, FAILED or IN_PROGRESS."""
    triggered_at: Utc
    path: str | None = None
    discarded: bool = False
    failure: str | None = None
    took_ms: int | None = None
    """End to end, from the trigger to the last acknowledgement."""
    state_bytes: int | None = None
    alignment_bytes: int | None = None
    """Persisted or buffered while barriers were aligned."""


class CheckpointSettings(Record):
    """`/jobs/:id/checkpoints/config`, as far as recovery depends on it."""

    mode: str | None = None
    """`exactly_once` or `at_least_once`."""
    timeout_ms: int | None = None
    min_pause_ms: int | None = None
    max_concurrent: int | None = None
    survives_cancel: bool | None = None
    """RETAIN_ON_CANCELLATION."""
    storage: str | None = None
    """Flink's word: `FileSystemCheckpointStorage`, `JobManagerCheckpointStorage`."""
    backend: str | None = None
    is_unaligned: bool | None = None
    tolerable_failures: int | None = None


class Restored(Record):
    """`latest.restored`: the point of state from which this run (or its last failover) started."""

    checkpoint_id: CheckpointId
    at: Utc
    is_savepoint: bool
    path: str | None


class Failure(Record):
    """One entry of the exception history."""

    at: Utc
    exception: str
    message: str
    """First line of the stack trace, at most 300 characters."""
    task: str | None
    attempt: int | None
    causes: tuple[str, ...] = ()
    """First lines of its `Caused by`, outermost first, at most five: a file's name often stands only there."""


class Vertex(Record):
    vertex_id: OperatorId
    name: str
    parallelism: int
    status: str
    attempt: int
    """The highest attempt number among its subtasks; 0 until something failed over."""


class JobRun(Record):
    """One submission of a job, as `/jobs/overview` and its detail pages tell it."""

    job_id: JobId
    name: str
    state: str
    """Flink's word: RUNNING, RESTARTING, FINISHED, CANCELED, FAILED, …"""
    started_at: Utc
    ended_at: Utc | None = None
    checkpoint_interval_ms: int | None = None
    checkpoints: tuple[CompletedCheckpoint, ...] = ()
    """Newest first, as far as Flink still remembers."""
    completed_count: int = 0
    failed_count: int = 0
    restored_count: int = 0
    restored: Restored | None = None
    failures: tuple[Failure, ...] = ()
    vertices: tuple[Vertex, ...] = ()
    code_version: str | None = None
    """From the job's global parameters or its snapshots; None when the job does not say."""
    settings: CheckpointSettings | None = None
    """None when Flink (or the history server) did not tell."""
    from_history: bool = False
    """Whether only the history server remembers it."""

    @property
    def is_terminal(self) -> bool:
        """Whether Flink will never run this submission again."""
        return self.state in {"FINISHED", "CANCELED", "FAILED"}

    @property
    def may_lose_in_flight(self) -> bool:
        """Whether a checkpoint that fails may lose rows for good. Under unaligned checkpoints the V1 sink's committer
        may get files after its state was taken, and lists them in place of the earlier ones (apache/iceberg #15846)."""
        is_v1 = any(V1_COMMITTER in vertex.name for vertex in self.vertices)
        return is_v1 and self.settings is not None and self.settings.is_unaligned is True

    @property
    def parallelism(self) -> dict[OperatorId, int]:
        """Operator chain -> its parallelism; empty while something is being recovered or rescaled."""
        return {vertex.vertex_id: vertex.parallelism for vertex in self.vertices} if self.is_settled else {}

    @property
    def is_settled(self) -> bool:
        """Whether it runs and nothing of it is being recovered now: every operator runs, or has ended as that of a
        bounded source does. Halfway through a stop, where operators end too, it is not."""
        told = {v.status for v in self.vertices}
        is_whole = told <= {"RUNNING"} or (told == {"RUNNING", "FINISHED"} and not self._is_ending)
        return self.state == "RUNNING" and is_whole

    @property
    def waiting(self) -> tuple[Vertex, ...]:
        """The operators that keep it from being settled; those that have ended only where there are no others."""
        if self.is_settled:
            return ()
        idle = tuple(v for v in self.vertices if v.status != "RUNNING")
        return tuple(v for v in idle if v.status != "FINISHED") or idle

    @property
    def _is_ending(self) -> bool:
        """Whether its newest checkpoint is a stop-with-savepoint that has not failed."""
        newest = next(iter(self.checkpoints), None)
        return newest is not None and newest.kind is CheckpointKind.STOP_SAVEPOINT and newest.status != "FAILED"

    def may_own(self, path: str) -> bool:
        """Whether Flink may delete restore point `path` when this run ends, as it does with what a run was restored
        from in CLAIM mode. The mode is not told by Flink; a run that has dropped a checkpoint of its own owns nothing
        older, for the oldest goes first."""
        if self.restored is None or any(each.discarded for each in self.checkpoints):
            return False
        told = self.restored.path
        return told is None or f"/{self.job_id}/chk-" in told or may_be_same(told, path)


class RememberedStart(Record):
    """A start of a run, or a restore of it since, that Waterline once saw in Flink, which forgets both.

    Restores of one run from one point are one: no checkpoint of it completed between them.
    """

    job: str
    """Under which the settings name the job."""
    job_id: JobId
    name: str
    """Of the job, as Flink tells it."""
    started_at: Utc
    restored: Restored | None
    """From where, as Flink told it first; None: the run began without state."""
    first_count: int
    """Flink's count of the run's restores when this was first seen: what lies between it and the `last_count` of the
    start before was never seen."""
    last_count: int
    last_at: Utc | None
    """When Flink restored it from this point last; None as for `restored`."""
    operator_ids: tuple[OperatorId, ...]
    """Its vertices, each by its first operator."""
    ended_at: Utc | None
    """When the run ended; None: it was not seen to."""
    first_seen: Utc

    @property
    def key(self) -> str:
        """The same for the same start, whoever sees it."""
        point = (self.restored.checkpoint_id, self.restored.path) if self.restored is not None else ()
        told = "\n".join(map(str, (self.job, self.job_id, self.started_at.isoformat(), *point)))
        return hashlib.sha256(told.encode()).hexdigest()

    def with_seen(self, again: "RememberedStart") -> "RememberedStart":
        """This start, as known after it was seen again."""
        return self.model_copy(
            update={
                "first_count": min(self.first_count, again.first_count),
                "last_count": max(self.last_count, again.last_count),
                "last_at": max((at for at in (self.last_at, again.last_at) if at is not None), default=None),
                "operator_ids": tuple(sorted({*self.operator_ids, *again.operator_ids})),
                "ended_at": again.ended_at or self.ended_at,
                "first_seen": min(self.first_seen, again.first_seen),
            }
        )


MOST_STARTS = 500
"""So many are remembered of each job, the newest."""


def start_of(job: str, run: JobRun, at: Utc) -> RememberedStart | None:
    """The newest start of a run seen at this moment. None where Flink has not said yet from where it began, or its
    history server, which need not know, says that it began without state."""
    if not run.vertices or run.state == "INITIALIZING" or (run.restored is None and run.from_history):
        return None
    return RememberedStart(
        job=job,
        job_id=run.job_id,
        name=run.name,
        started_at=run.started_at,
        restored=run.restored,
        first_count=run.restored_count,
        last_count=run.restored_count,
        last_at=run.restored.at if run.restored is not None else None,
        operator_ids=tuple(sorted({vertex.vertex_id for vertex in run.vertices})),
        ended_at=run.ended_at,
        first_seen=at,
    )


class SourcePosition(Record):
    """Where a restore would go on in one partition of a Kafka topic, as the state of the source says."""

    operator_id: OperatorId
    topic: str
    partition: int
    following: int
    """The first offset that would be read. Negative before anything was read, as Kafka's connector has it: -1 from the
    end of the topic, -2 from its beginning, -3 from what the consumer group had committed."""
    until: int | None = None
    """The offset to stop before; None: it never stops. Negative as above: told when it starts."""


class StoredCheckpoint(Record):
    """A savepoint or retained checkpoint on storage, read from its `_metadata` file."""

    path: str
    """The folder, as Flink takes it for a restore."""
    kind: CheckpointKind
    checkpoint_id: CheckpointId | None = None
    """None when the file cannot be read; `problem` says why."""
    job_id: JobId | None = None
    """The run that wrote it: from the committer's state, else from the folder's name."""
    written_at: Utc
    pending_manifests: tuple[str, ...] = ()
    """Names of the Flink manifests that its committer state still lists, of every table that the job writes."""
    manifest_folders: dict[str, tuple[str, ...]] = {}
    """Name -> the folders where the state says that it lies; empty in records that did not keep them."""
    is_committer_read: bool = False
    """Whether the committers' whole state was read (in the file or beside it), so that no pending manifest means
    that nothing is owed."""
    operator_ids: tuple[OperatorId, ...] = ()
    """Every operator that the file lists; empty where its layout was not understood."""
    operator_names: dict[OperatorId, str] = {}
    """As the file names them (Flink 2.x); those without a name are left out."""
    is_drained: bool = False
    """Taken with `drain: true`: no job goes on from it (F5). Then `problem` says so too."""
    not_understood: str | None = None
    """What of a whole file could not be followed; a sentence. Then sizes and operators are not known."""
    digest: str | None = None
    """sha256 of `_metadata`, so that an approved restore point cannot be swapped."""
    problem: str | None = None
    is_unread: bool = Field(default=False, exclude_if=lambda is_unread: not is_unread)
    """Whether storage has it and it could not be read (archived, denied, too large): it may be whole. Then `problem`
    says why."""
    state_bytes: dict[OperatorId, int] = {}
    """Operator -> size of its state, inline and in files, 0 for one without any; empty: not known."""
    source_positions: tuple[SourcePosition, ...] = ()
    """Of all its Kafka sources; empty: not known."""


class FlinkManifest(Record):
    """A temporary manifest that the sink wrote for a checkpoint, still on storage; told by its name alone
    (facts 1.6). Deleted by the sink after the commit, so each is pending, leaked or left over."""

    path: str
    job_id: JobId
    operator_id: OperatorId
    subtask: int
    attempt: int
    checkpoint_id: CheckpointId
    number: int
    bytes: int
    written_at: Utc | None
    """None where storage does not tell."""


def names_run(path: str | None, job_id: JobId) -> bool:
    """Whether a restore point's path is of that run: Flink puts the id into the paths of checkpoints, its first six
    digits into the names of savepoints' folders."""
    parts = path.rstrip("/").split("/") if path is not None else []
    return job_id in parts or any(part.startswith(f"savepoint-{job_id[:6]}-") for part in parts)


def with_kinds(stored: Iterable[StoredCheckpoint], runs: Iterable[JobRun]) -> tuple[StoredCheckpoint, ...]:
    """The same restore points, their kind as Flink's history tells it, matched by path.

    Where the history is silent (it keeps ten or so) the kind stays as it was read from the file.
    """
    told = ByPath(
        (checkpoint.path, checkpoint.kind)
        for run in runs
        for checkpoint in run.checkpoints
        if checkpoint.path is not None and checkpoint.kind is not CheckpointKind.UNKNOWN
    )
    return tuple(each.model_copy(update={"kind": told.get(each.path) or each.kind}) for each in stored)


CLOCKS_DIFFER = timedelta(seconds=5)
"""So far the clocks of a JobManager and a committer are taken to differ, at most."""
STORAGE_CLOCK_DIFFERS = timedelta(minutes=5)
"""The same of the clock of storage and that of any writer."""


def came_before(commit: Snapshot, run: JobRun) -> bool | None:
    """Whether a commit of this run came before Flink restored it last; None: nothing tells. Of a run that was never
    restored, False."""
    if run.restored is None:
        return False
    apart = run.restored.at - commit.committed_at
    if abs(apart) >= CLOCKS_DIFFER:
        return commit.committed_at <= run.restored.at
    triggered = [
        c.triggered_at for c in run.checkpoints if c.checkpoint_id == commit.checkpoint_id and c.status == "COMPLETED"
    ]
    if triggered:
        return min(triggered) < run.restored.at
    since = [c for c in run.checkpoints if c.status == "COMPLETED" and c.triggered_at >= run.restored.at]
    return False if apart < timedelta(0) and since else None


_KNOWN = (
    (
        r"access ?denied|accesscontrol|forbidden|unauthorized|not authorized|permission denied|expired ?token|"
        r"invalidaccesskey|signaturedoesnotmatch|status code:? 40[13]\b",
        "the job lacks a right, or its credentials are not valid",
        "grant the right, or renew the credentials",
    ),
    (
        r"quota|throttl|slow ?down|too ?many ?requests|limitexceeded|request rate|status code:? (429|503)\b",
        "a quota is used up, or requests are throttled",
        "raise the quota, or lower the load on that service",
    ),
    (
        r"no space left|enospc|diskerror|disk (is )?full|not enough space|namespace is over",
        "a disk is full",
        "free space on that disk",
    ),
    (
        r"outofmemory|oomkilled|exit ?code:? (is )?137|beyond .{0,40}memory limit|gc overhead",
        "a process ran out of memory",
        "give the TaskManagers or the JobManager more memory",
    ),
    (
        r"commitstateunknown",
        "the catalog did not say whether a commit was made",
        "see that the catalog answers, and whether main has that commit",
    ),
    (
        r"waiting for lock|acquir\w* (the |a )?(\w+ )?lock|lock (is )?held|lockexception|locked by|lock timeout",
        "somebody holds a lock",
        "find who holds the lock, and release it once that one has ended",
    ),
    (
        r"connection refused|unknownhost|no route to host|connect(ion)? timed out|connecttimeout|name or service not|"
        r"nodename nor servname|temporary failure in name",
        "a service does not answer",
        "bring that service up, or correct its address",
    ),
)
"""Pattern of the exception's text -> what it means, and what to do first."""


class Cause(NamedTuple):
    """Why a job failed, by the innermost exception."""

    said: str
    """Flink's words."""
    meaning: str | None
    """A clause; None: it is not one of those that lie outside of job and table."""
    first: str | None
    """What has to be done before the job can be restored, a clause."""

    @property
    def in_words(self) -> str:
        """Sentences."""
        said = f"Root cause: {self.said.rstrip('.')}."
        if self.meaning is None or self.first is None:
            return said
        return f"{said} So {self.meaning}. {self.first[0].upper()}{self.first[1:]} first: a restore does not cure it."


def cause_of(failure: Failure) -> Cause:
    """The innermost of its exceptions that is known, else the innermost."""
    told = failure.message
    if not told.startswith(failure.exception):
        told = f"{failure.exception}: {told}"
    return cause_in(*reversed(failure.causes), told)


def cause_in(*lines: str) -> Cause:
    """The first of these that is known, else the first; innermost first."""
    for line in lines:
        for pattern, meaning, first in _KNOWN:
            if re.search(pattern, line, re.IGNORECASE):
                return Cause(line, meaning, first)
    return Cause(lines[0], None, None)


MANIFESTS_LOCATION = "flink.manifests.location"
"""Table property: where the sink writes its temporary manifests, if not beside the table's metadata."""
_METADATA_LOCATION = "write.metadata.path"
_STORAGE = re.compile(r"^[a-z][a-z0-9+.-]*:(//[^/]*)?/*")
_OF_A_TABLE = "/metadata"
"""How the folder ends into which a sink writes where no table property says otherwise."""
PENDING = re.compile(
    r"^(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-\d{5}-\d+-(?P<checkpoint>\d+)-\d{5}(?:-[0-9a-f-]{36})?\.avro$"
)
"""A Flink manifest's name: job id, operator id, subtask, attempt, checkpoint, count (facts 1.6)."""


def folder_of_manifests(table: TableState) -> str:
    """Where the sink puts its temporary manifests now, without a slash at the end."""
    return _folders_by_properties(table)[0]


def owed_to(table: TableState, stored: StoredCheckpoint) -> tuple[str, ...]:
    """Names of the pending manifests that are this table's, or may be.

    Left out is only what lies beside the metadata of another table. A folder of any other kind may be one that a
    property of this table named before, and a name without folder (an older record) may lie anywhere.
    """
    return tuple(name for name in stored.pending_manifests if not _is_of_another(name, table, stored))


def owed_checkpoints(stored: StoredCheckpoint, table: TableState) -> tuple[int, ...] | None:
    """Checkpoints whose files for this table the committer's state still lists, rising; None if a name cannot be
    understood."""
    found = [PENDING.match(name.rsplit("/", 1)[-1]) for name in owed_to(table, stored)]
    return tuple(sorted({int(m["checkpoint"]) for m in found if m})) if all(found) else None


def _is_of_another(name: str, table: TableState, stored: StoredCheckpoint) -> bool:
    folders = [_bare(folder) for folder in stored.manifest_folders.get(name, ())]
    return bool(folders) and all(each.endswith(_OF_A_TABLE) and not _is_own(each, table) for each in folders)


def _is_own(folder: str, table: TableState) -> bool:
    """By the properties, by where the metadata lies, or by where any listed commit wrote its own."""
    if folder in {_bare(each) for each in (*_folders_by_properties(table), _parent(table.metadata_location))}:
        return True
    return any(_bare(_parent(snapshot.manifest_list)) == folder for snapshot in table.snapshots)


def _folders_by_properties(table: TableState) -> tuple[str, ...]:
    named = (table.properties.get(name) for name in (MANIFESTS_LOCATION, _METADATA_LOCATION))
    default = f"{table.location.rstrip('/')}{_OF_A_TABLE}"
    return (*(each.rstrip("/") for each in named if each), default)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _bare(folder: str) -> str:
    """A folder's path without scheme and host: one storage goes by several names (`s3:` and `s3a:`, `file:` and
    none). Two tables at one path of two buckets are then taken for one: that owes too much, never too little."""
    return "/" + _STORAGE.sub("", folder).strip("/")
