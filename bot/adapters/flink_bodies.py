"""Bodies of Flink's REST interface, 1.20 and 2.x.

Only fields that both lines write are read. Unknown ones are ignored, `latest` may be null or lack its
parts, and the percentiles (sometimes the string "NaN") are left alone.
"""

from pydantic import BaseModel, Field


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


class CheckpointEntry(BaseModel):
    """One checkpoint or savepoint of the history."""

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
    """The newest of each sort; any may be missing."""

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
    timeout: int | None = None
    min_pause: int | None = None
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
        """The highest attempt number among the subtasks."""
        return max((subtask.attempt for subtask in self.subtasks), default=0)
