"""Bodies of Flink's REST interface, 1.20 and 2.x, and how they become a `JobRun`; pure.

Only fields that both lines write are read. Unknown ones are ignored, `latest` may be null or lack its
parts, and the percentiles (sometimes the string "NaN") are left alone.
"""

import re
from datetime import UTC, datetime

from pydantic import BaseModel, Field

from bot.domain.flink import CheckpointKind, CompletedCheckpoint, Failure, JobRun, Restored, Vertex
from bot.domain.ids import CheckpointId, JobId, OperatorId

CODE_VERSION_KEYS = ("code.version", "code-version", "git.sha", "git-sha", "app.git-sha")
"""Global job parameters that name the job's code, in order of preference."""

_KINDS = {
    "CHECKPOINT": CheckpointKind.CHECKPOINT,
    "UNALIGNED_CHECKPOINT": CheckpointKind.CHECKPOINT,
    "SAVEPOINT": CheckpointKind.SAVEPOINT,
    "SYNC_SAVEPOINT": CheckpointKind.STOP_SAVEPOINT,
}
_ATTEMPT = re.compile(r"- execution #(\d+)$")
_NO_INTERVAL = 2**63 - 1
"""How Flink writes that periodic checkpoints are off."""


class JobLine(BaseModel):
    """One job of `/jobs/overview`."""

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


class _Checkpoint(BaseModel):
    id: int
    status: str
    checkpoint_type: str = "UNKNOWN"
    trigger_timestamp: int
    external_path: str | None = None
    discarded: bool = False
    failure_message: str | None = None


class _Restored(BaseModel):
    id: int
    restore_timestamp: int
    is_savepoint: bool
    external_path: str | None = None


class _Latest(BaseModel):
    completed: _Checkpoint | None = None
    savepoint: _Checkpoint | None = None
    failed: _Checkpoint | None = None
    restored: _Restored | None = None


class _Counts(BaseModel):
    restored: int = 0
    completed: int = 0
    failed: int = 0


class Checkpoints(BaseModel):
    """`GET /jobs/:jid/checkpoints`."""

    counts: _Counts | None = None
    latest: _Latest | None = None
    history: tuple[_Checkpoint, ...] | None = None


class _Retention(BaseModel):
    enabled: bool = False
    delete_on_cancellation: bool = True


class CheckpointConfig(BaseModel):
    """`GET /jobs/:jid/checkpoints/config`."""

    interval: int | None = None
    retention: _Retention = Field(default_factory=_Retention, alias="externalization")

    @property
    def survives_cancel(self) -> bool:
        """Whether Flink keeps the newest checkpoints of a run that is cancelled (RETAIN_ON_CANCELLATION)."""
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
        """The highest attempt number among the subtasks."""
        return max((subtask.attempt for subtask in self.subtasks), default=0)


def job_run(
    detail: JobDetail,
    checkpoints: Checkpoints,
    config: CheckpointConfig,
    exceptions: Exceptions,
    job_config: JobConfig,
    attempts: dict[str, int],
) -> JobRun:
    """One run from its pages; `attempts` maps a vertex id to its highest attempt, missing means 0."""
    counts = checkpoints.counts or _Counts()
    restored = checkpoints.latest.restored if checkpoints.latest else None
    return JobRun(
        job_id=JobId(detail.jid),
        name=detail.name,
        state=detail.state,
        started_at=_utc(detail.start_time),
        ended_at=_utc(detail.end_time) if detail.end_time > 0 else None,
        checkpoint_interval_ms=config.interval if config.interval != _NO_INTERVAL else None,
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
    )


def _completed(checkpoints: Checkpoints) -> tuple[CompletedCheckpoint, ...]:
    """The history and the latest ones that fell out of it (it keeps ten by default), newest first."""
    latest = checkpoints.latest or _Latest()
    known = [*(checkpoints.history or ()), latest.completed, latest.savepoint, latest.failed]
    by_id: dict[int, _Checkpoint] = {}
    for each in known:
        if each is not None:
            by_id.setdefault(each.id, each)
    return tuple(
        CompletedCheckpoint(
            checkpoint_id=CheckpointId(each.id),
            kind=_KINDS.get(each.checkpoint_type, CheckpointKind.UNKNOWN),
            status=each.status,
            triggered_at=_utc(each.trigger_timestamp),
            path=each.external_path,
            discarded=each.discarded,
            failure=each.failure_message,
        )
        for each in sorted(by_id.values(), key=lambda each: each.id, reverse=True)
    )


def _restored(restored: _Restored) -> Restored:
    return Restored(
        checkpoint_id=CheckpointId(restored.id),
        at=_utc(restored.restore_timestamp),
        is_savepoint=restored.is_savepoint,
        path=restored.external_path,
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
                message=entry.stacktrace.partition("\n")[0].strip()[:300],
                task=task,
                attempt=int(attempt.group(1)) if attempt else None,
            )
        )
    return tuple(failures)


def _code_version(config: JobConfig) -> str | None:
    said = (config.execution.user_config if config.execution else None) or {}
    return next((said[key] for key in CODE_VERSION_KEYS if said.get(key)), None)


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
