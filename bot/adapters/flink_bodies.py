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
