"""Whether a start that left state behind left the source's behind too: Flink says so nowhere."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from bot.actions._effects._left_behind import source_kept
from bot.actions._requirements import World
from bot.domain.effects import StartJob
from bot.domain.errors import CouldNotLook
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint, Vertex
from bot.domain.ids import CheckpointId, JobId, OperatorId
from bot.ports import JobPorts
from tests.tables import job

START = StartJob(job="orders", path="file:/s/savepoint-1", checkpoint_id=CheckpointId(5), allow_non_restored=True)
SOURCE, OTHER = OperatorId("c" * 32), OperatorId("d" * 32)


@dataclass
class OneRun:
    """Flink and storage: a run whose graph has this operator, and a savepoint that holds state of `SOURCE`."""

    operator: OperatorId
    name: str = "Source: events -> Calc"
    not_understood: str | None = None
    is_away: bool = False

    def run(self, job_id: JobId) -> JobRun:
        """See the port."""
        if self.is_away:
            raise CouldNotLook("Flink did not answer.", "", "")
        vertex = Vertex(vertex_id=self.operator, name=self.name, parallelism=1, status="RUNNING", attempt=0)
        return JobRun(
            job_id=job_id, name="orders", state="RUNNING", started_at=datetime.now(UTC), ended_at=None,
            checkpoint_interval_ms=None, checkpoints=(), completed_count=0, failed_count=0, restored_count=1,
            restored=None, failures=(), vertices=(vertex,), code_version=None,
        )  # fmt: skip

    def read(self, path: str) -> StoredCheckpoint:
        """See the port."""
        return StoredCheckpoint(
            path=path, kind=CheckpointKind.STOP_SAVEPOINT, checkpoint_id=CheckpointId(5), job_id=job("a"),
            written_at=datetime.now(UTC), operator_ids=(SOURCE,), not_understood=self.not_understood,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("world", "passed", "said"),
    [
        (OneRun(SOURCE), True, "The state of Source: events was found"),
        (OneRun(OTHER), False, "holds no state for Source: events -> Calc, which started from the beginning"),
        (OneRun(SOURCE, name="Map"), None, "names no source"),
        (OneRun(SOURCE, not_understood="A layout of its own."), None, "A layout of its own."),
        (OneRun(SOURCE, is_away=True), None, "Flink did not answer"),
    ],
)
def test_the_source_went_on_or_began_anew(world: OneRun, passed: bool | None, said: str) -> None:
    """By its operator id, which the restore point must hold."""
    ports = {"orders": JobPorts(flink=world, checkpoints=world)}  # type: ignore[arg-type]

    check = source_kept(START, job("b"), World(table=None, jobs=ports))  # type: ignore[arg-type]

    assert check.passed is passed
    assert said in check.sentence
