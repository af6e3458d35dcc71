"""What requirements are checked against, and what effects are prepared from."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bot.domain.errors import CouldNotLook
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, TableName
from bot.domain.table import TableState
from bot.ports import JobPorts


def _nobody_loads(table: TableName) -> TableState:
    raise CouldNotLook(
        f"Table {table} was not looked at.",
        "Expected a catalog; this look has none.",
        "Propose it in an incident of a watched table.",
    )


@dataclass(frozen=True)
class World:
    """The table, read just now, and the jobs, asked when needed."""

    table: TableState
    jobs: Mapping[str, JobPorts]
    load: Callable[[TableName], TableState] = _nobody_loads
    """Another table, read when it is needed. Raises CouldNotLook."""
    other_jobs: Sequence[str] = ()
    """Further configured jobs that are declared to write the table."""

    def live(self, job: str) -> list[JobId]:
        """The ids of the runs of a job that are not at their end. Raises CouldNotLook."""
        return [run.job_id for run in self.live_runs(job)]

    def live_runs(self, job: str) -> list[JobRun]:
        """The runs of a job that are not at their end. Raises CouldNotLook."""
        return [run for run in self.jobs[job].flink.runs(job) if not run.is_terminal]
