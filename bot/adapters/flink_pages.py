"""The pages of runs, of the JobManager or the history server, and how they become a `JobRun`.

Only fields that Flink 1.20 and 2.x both write are read. Unknown ones are ignored, `latest` may be null or lack its
parts, and the percentiles (sometimes the string "NaN") are left alone.
"""

import re
from datetime import UTC, datetime

from pydantic import BaseModel, Field

from bot.adapters.flink_http import FlinkHttp
from bot.observation.errors import CouldNotLook
from bot.observation.flink import (
    CheckpointKind,
    CheckpointSettings,
    CompletedCheckpoint,
    Failure,
    JobRun,
    Restored,
    Vertex,
)
from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.observation.masking import LONGEST_CAUSE, LONGEST_MESSAGE


class JobLine(BaseModel):
    jid: str
    name: str
    start_time: int = Field(alias="start-time")


class Overview(BaseModel):
    """`GET /jobs/overview`."""

    jobs: tuple[JobLine, ...]


class _VertexLine(BaseModel):
    id: str
    name: str
    parallelism: int
    status: str


class JobDetail(BaseModel):
    """`GET /jobs/:jid`."""

    jid: str
    name: str
    state: str
    start_time: int = Field(alias="start-time")
    end_time: int = Field(default=-1, alias="end-time")
    vertices: tuple[_VertexLine, ...] = ()


class CheckpointEntry(BaseModel):
    id: int
    status: str
    checkpoint_type: str = "UNKNOWN"
    trigger_timestamp: int
    external_path: str | None = None
    discarded: bool = False
    failure_message: str | None = None
    took_ms: int | None = Field(default=None, alias="end_to_end_duration")
    state_bytes: int | None = Field(default=None, alias="state_size")
    buffered: int | None = Field(default=None, alias="alignment_buffered")
    persisted: int | None = Field(default=None, alias="persisted_data")

    @property
    def alignment_bytes(self) -> int | None:
        """What was kept in flight while barriers were aligned: persisted by unaligned checkpoints since 1.11,
        buffered before that."""
        told = [each for each in (self.persisted, self.buffered) if each is not None]
        return max(told) if told else None


class RestoredEntry(BaseModel):
    """Where the run, or its last failover, started from."""

    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str | None = None


class Latest(BaseModel):
    completed: CheckpointEntry | None = None
    savepoint: CheckpointEntry | None = None
    failed: CheckpointEntry | None = None
    restored: RestoredEntry | None = None


class Counts(BaseModel):
    """How many since the start of the run."""

    restored: int = 0
    completed: int = 0
    failed: int = 0


class Checkpoints(BaseModel):
    """`GET /jobs/:jid/checkpoints`."""

    counts: Counts | None = None
    latest: Latest | None = None
    history: tuple[CheckpointEntry, ...] | None = None


class _Retention(BaseModel):
    enabled: bool = False
    delete_on_cancellation: bool = True


class CheckpointConfig(BaseModel):
    """`GET /jobs/:jid/checkpoints/config`; a version that lacks a field leaves it None."""

    mode: str | None = None
    interval: int | None = None
    timeout_ms: int | None = Field(default=None, alias="timeout")
    min_pause_ms: int | None = Field(default=None, alias="min_pause")
    max_concurrent: int | None = None
    retention: _Retention | None = Field(default=None, alias="externalization")
    storage: str | None = Field(default=None, alias="checkpoint_storage")
    backend: str | None = Field(default=None, alias="state_backend")
    is_unaligned: bool | None = Field(default=None, alias="unaligned_checkpoints")
    tolerable_failures: int | None = Field(default=None, alias="tolerable_failed_checkpoints")

    @property
    def survives_cancel(self) -> bool | None:
        """Whether Flink keeps the newest checkpoints of a run that is cancelled (RETAIN_ON_CANCELLATION)."""
        if self.retention is None:
            return None
        return self.retention.enabled and not self.retention.delete_on_cancellation


class _ExceptionEntry(BaseModel):
    exception_name: str = Field(default="", alias="exceptionName")
    stacktrace: str = ""
    timestamp: int
    task_name: str | None = Field(default=None, alias="taskName")


class _ExceptionHistory(BaseModel):
    entries: tuple[_ExceptionEntry, ...] = ()


class Exceptions(BaseModel):
    """`GET /jobs/:jid/exceptions`; the 1.x fields beside the history are not needed."""

    history: _ExceptionHistory = Field(default_factory=_ExceptionHistory, alias="exceptionHistory")


class _ExecutionConfig(BaseModel):
    user_config: dict[str, str] | None = Field(default=None, alias="user-config")


class JobConfig(BaseModel):
    """`GET /jobs/:jid/config`."""

    execution: _ExecutionConfig | None = Field(default=None, alias="execution-config")


class _Subtask(BaseModel):
    attempt: int = 0


class VertexDetail(BaseModel):
    """`GET /jobs/:jid/vertices/:vid`."""

    id: str
    subtasks: tuple[_Subtask, ...] = ()

    @property
    def attempt(self) -> int:
        return max((subtask.attempt for subtask in self.subtasks), default=0)


CODE_VERSION_KEYS = ("code.version", "code-version", "git.sha", "git-sha", "app.git-sha")
"""Global job parameters that name the job's code, in order of preference."""

_KINDS = {
    "CHECKPOINT": CheckpointKind.CHECKPOINT,
    "UNALIGNED_CHECKPOINT": CheckpointKind.CHECKPOINT,
    "SAVEPOINT": CheckpointKind.SAVEPOINT,
    "SYNC_SAVEPOINT": CheckpointKind.STOP_SAVEPOINT,
}
_ATTEMPT = re.compile(r"- execution #(\d+)$")
_CAUSE = re.compile(r"^Caused by: (.+?)\s*$", re.MULTILINE)
MOST_CAUSES = 5
"""Of one failure; a deeper one repeats them."""
_NO_INTERVAL = 2**63 - 1
"""How Flink writes that periodic checkpoints are off."""


def job_run(
    detail: JobDetail,
    checkpoints: Checkpoints,
    config: CheckpointConfig | None,
    exceptions: Exceptions,
    job_config: JobConfig,
    attempts: dict[str, int],
    *,
    from_history: bool = False,
) -> JobRun:
    """One run from its pages; `attempts` maps a vertex id to its highest attempt, missing means 0."""
    counts = checkpoints.counts or Counts()
    restored = checkpoints.latest.restored if checkpoints.latest else None
    return JobRun(
        job_id=JobId(detail.jid),
        name=detail.name,
        state=detail.state,
        started_at=_utc(detail.start_time),
        ended_at=_utc(detail.end_time) if detail.end_time > 0 else None,
        checkpoint_interval_ms=config.interval if config and config.interval != _NO_INTERVAL else None,
        checkpoints=_completed(checkpoints),
        completed_count=counts.completed,
        failed_count=counts.failed,
        restored_count=counts.restored,
        restored=_restored(restored) if restored else None,
        failures=_failures(exceptions),
        vertices=tuple(
            Vertex(
                vertex_id=OperatorId(vertex.id),
                name=vertex.name,
                parallelism=vertex.parallelism,
                status=vertex.status,
                attempt=attempts.get(vertex.id, 0),
            )
            for vertex in detail.vertices
        ),
        code_version=_code_version(job_config),
        settings=CheckpointSettings.model_validate(config, from_attributes=True) if config else None,
        from_history=from_history,
    )


def _completed(checkpoints: Checkpoints) -> tuple[CompletedCheckpoint, ...]:
    """The history and the latest ones that fell out of it (it keeps ten by default), newest first."""
    latest = checkpoints.latest or Latest()
    known = [*(checkpoints.history or ()), latest.completed, latest.savepoint, latest.failed]
    by_id: dict[int, CheckpointEntry] = {}
    for each in known:
        if each is not None:
            by_id.setdefault(each.id, each)
    return tuple(
        CompletedCheckpoint(
            checkpoint_id=CheckpointId(each.id),
            kind=_KINDS.get(each.checkpoint_type, CheckpointKind.UNKNOWN),
            status=each.status,
            triggered_at=_utc(each.trigger_timestamp),
            path=_place(each.external_path),
            discarded=each.discarded,
            failure=each.failure_message,
            took_ms=_told(each.took_ms),
            state_bytes=_told(each.state_bytes),
            alignment_bytes=_told(each.alignment_bytes),
        )
        for each in sorted(by_id.values(), key=lambda each: each.id, reverse=True)
    )


def _place(path: str | None) -> str | None:
    """None also for the words that Flink has in its place where state is kept in the JobManager's memory:
    `<checkpoint-not-externally-addressable>`."""
    return path if path and not path.startswith("<") else None


def _restored(restored: RestoredEntry) -> Restored:
    return Restored(
        checkpoint_id=CheckpointId(restored.id),
        at=_utc(restored.restore_timestamp),
        is_savepoint=restored.is_savepoint,
        path=_place(restored.external_path),
    )


def _failures(exceptions: Exceptions) -> tuple[Failure, ...]:
    newest_first = sorted(exceptions.history.entries, key=lambda entry: entry.timestamp, reverse=True)
    failures = []
    for entry in newest_first:
        task = entry.task_name
        attempt = _ATTEMPT.search(task) if task else None
        failures.append(
            Failure(
                at=_utc(entry.timestamp),
                exception=entry.exception_name,
                message=entry.stacktrace.partition("\n")[0].strip()[:LONGEST_MESSAGE],
                task=task,
                attempt=int(attempt.group(1)) if attempt else None,
                causes=tuple(cause_lines(entry.stacktrace)[:MOST_CAUSES]),
            )
        )
    return tuple(failures)


def cause_lines(stacktrace: str) -> list[str]:
    """The first lines of what each `Caused by` names, outermost first."""
    return [str(cause)[:LONGEST_CAUSE] for cause in _CAUSE.findall(stacktrace)]


def _code_version(config: JobConfig) -> str | None:
    said = (config.execution.user_config if config.execution else None) or {}
    return next((said[key] for key in CODE_VERSION_KEYS if said.get(key)), None)


def _told(number: int | None) -> int | None:
    """Flink writes -1 for what is not known (yet)."""
    return number if number is not None and number >= 0 else None


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


class RunPages:
    """Reads runs at one address. Cost: five calls a run, and one a vertex where it failed over."""

    def __init__(self, http: FlinkHttp, *, is_history: bool = False) -> None:
        self._http = http
        self._is_history = is_history

    def ids_of(self, job: str) -> tuple[JobId, ...]:
        """Every submission named `job`, newest first. Raises CouldNotLook."""
        return tuple(job_id for job_id, name in self.listed() if name == job)

    def listed(self) -> tuple[tuple[JobId, str], ...]:
        """Every submission and its job's name, newest first. Raises CouldNotLook."""
        overview = self._http.page(Overview, "/jobs/overview")
        if overview is None:
            raise CouldNotLook(
                f"{self._http.what} at {self._http.url} has no list of jobs.",
                "Expected GET /jobs/overview to answer; found HTTP 404.",
                "Check the address: it may be another service's"
                + (", or the history server has not yet fetched its first archive." if self._is_history else "."),
            )
        newest_first = sorted(overview.jobs, key=lambda line: line.start_time, reverse=True)
        return tuple((JobId(line.jid), line.name) for line in newest_first)

    def run(self, job_id: JobId) -> JobRun | None:
        """One submission; None if it is not known here. Raises CouldNotLook."""
        base = f"/jobs/{job_id}"
        detail = self._http.page(JobDetail, base)
        if detail is None:
            return None
        # A page may be missing (404) while a run is being set up, or when it takes no checkpoints.
        exceptions = self._http.page(Exceptions, f"{base}/exceptions") or Exceptions()
        return job_run(
            detail,
            self._http.page(Checkpoints, f"{base}/checkpoints") or Checkpoints(),
            self._http.page(CheckpointConfig, f"{base}/checkpoints/config"),
            exceptions,
            self._http.page(JobConfig, f"{base}/config") or JobConfig(),
            self._attempts(detail) if exceptions.history.entries else {},
            from_history=self._is_history,
        )

    def state_of(self, job_id: JobId) -> str | None:
        """Flink's word; None if the run is not known here. Raises CouldNotLook."""
        detail = self._http.page(JobDetail, f"/jobs/{job_id}")
        return None if detail is None else detail.state

    def _attempts(self, detail: JobDetail) -> dict[str, int]:
        """Vertex id -> highest attempt. Asked only after a failover: without one every attempt is 0."""
        pages = (self._http.page(VertexDetail, f"/jobs/{detail.jid}/vertices/{v.id}") for v in detail.vertices)
        return {page.id: page.attempt for page in pages if page is not None}
