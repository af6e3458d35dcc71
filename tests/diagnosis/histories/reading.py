"""The reading half of a job: where its source stands, and the checkpoints that a run completes."""

from datetime import datetime, timedelta
from random import Random
from typing import NamedTuple
from uuid import UUID

from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.observation.ids import CheckpointId, OperatorId
from tests.cases import Tale, job_id
from tests.diagnosis.histories.sink import Sink, Written
from tests.diagnosis.histories.source import Source, Stand
from tests.diagnosis.histories.table import File

LISTED = 10
"""So many checkpoints Flink still lists."""


class RestorePoint(NamedTuple):
    """A completed checkpoint or savepoint, with what the sink's state lists there."""

    run: str
    checkpoint: int
    kind: CheckpointKind
    position: Stand
    pending: tuple[Written, ...]
    path: str
    at: datetime
    operator: OperatorId
    """The sink's."""
    is_drained: bool = False


def writer_id(run: str, incarnation: int) -> str:
    """The random id in the names of its files; the same for the same history."""
    return str(UUID(int=Random(f"{run} {incarnation}").getrandbits(128)))  # noqa: S311 - no secret


class Reader:
    """A run that reads its source, checkpoint by checkpoint. Each event moves the clock."""

    def __init__(self, tale: Tale, sink: Sink, source: Source, draw: Random, interval_s: int) -> None:
        self.tale, self.sink, self.source, self.draw, self.interval_s = tale, sink, source, draw, interval_s
        self.run = ""
        self.checkpoint = 0
        self.position = source.zero
        """The next position that the source gives, in each of its partitions."""
        self.read = source.every
        """The partitions that it reads."""
        self.points: list[RestorePoint] = []
        self.newest: RestorePoint | None = None
        """Where a failover goes on from; None: the run has no state yet."""
        self.incarnations = self.files = 0
        """Starts and failovers of all runs so far, and files that the writer of this one has made."""

    @property
    def shown(self) -> JobRun:
        """The living run, as Flink shows it."""
        return self.tale.runs[self.run]

    def passes(self, seconds: float) -> None:
        self.tale.now += timedelta(seconds=seconds)

    def makes_file(self) -> File:
        """The writer of this incarnation makes its next data file."""
        self.files += 1
        return writer_id(self.run, self.incarnations), self.files

    def has_new_writer(self) -> None:
        """Each start and failover has a writer of its own, which counts from 1."""
        self.incarnations, self.files = self.incarnations + 1, 0

    def reads(
        self,
        rows: int | None = None,
        *,
        kind: CheckpointKind = CheckpointKind.CHECKPOINT,
        status: str = "COMPLETED",
        is_committed: bool = True,
    ) -> None:
        """The next checkpoint, with so many rows (None: some). A savepoint is never committed by itself, and what a
        failed checkpoint wrote comes with the next."""
        held = self._next_rows(rows)
        self.checkpoint += 1
        self.passes(self.interval_s - 2)
        if held:
            self.sink.writes(
                Written(self.run, self.checkpoint, held, self.tale.now, self.sink.operator, self.makes_file())
            )
        self._shows(kind, status)
        self.passes(2)
        if status == "COMPLETED":
            self._keeps(kind)
            if is_committed and kind is not CheckpointKind.SAVEPOINT:
                self.passes(6)
                self.sink.commits(self.run, self.checkpoint)

    def _next_rows(self, rows: int | None) -> tuple[int, ...]:
        number = self.draw.randint(1, 3) if rows is None else rows
        self.source.reaches(self.position)
        if behind := self.source.behind(self.position, self.read):
            number = max(number, min(self.draw.choice([2, 9]), behind))
        held, self.position = self.source.gives(self.position, number, self.read)
        return held

    def _path(self, kind: CheckpointKind) -> str:
        job = job_id(self.run)
        is_checkpoint = kind is CheckpointKind.CHECKPOINT
        name = f"{job}/chk-{self.checkpoint}" if is_checkpoint else f"savepoint-{job[:6]}-{len(self.points):012x}"
        return f"s3://state/{name}"

    def _shows(self, kind: CheckpointKind, status: str) -> None:
        is_complete = status == "COMPLETED"
        newest = CompletedCheckpoint(
            checkpoint_id=CheckpointId(self.checkpoint),
            kind=kind,
            status=status,
            triggered_at=self.tale.now,
            path=self._path(kind) if is_complete else None,
            took_ms=500,
        )
        self._changes(
            checkpoints=(newest, *self.shown.checkpoints)[:LISTED],
            completed_count=self.shown.completed_count + is_complete,
            failed_count=self.shown.failed_count + (not is_complete),
        )

    def _keeps(self, kind: CheckpointKind) -> None:
        """A checkpoint takes the folder of an older one of the same id; the folder of a savepoint is its own."""
        listed = self.sink.pending, self._path(kind), self.tale.now, self.sink.operator
        point = RestorePoint(self.run, self.checkpoint, kind, self.position, *listed)
        self.points = [*(each for each in self.points if each.path != point.path), point]
        if kind is not CheckpointKind.SAVEPOINT:
            self.newest = point

    def _changes(self, **changes: object) -> None:
        self.tale.runs[self.run] = self.shown.model_copy(update=changes)
