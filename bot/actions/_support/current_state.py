"""What requirements are checked against, and what effects are prepared from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from bot.observation.errors import CouldNotLook, UnknownTable
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, TableName
from bot.observation.table import TableState
from bot.ports import JobPorts


@contextmanager
def looked_at() -> Iterator[None]:
    """A table that is gone tells nothing of an effect on it. Raises CouldNotLook in the place of UnknownTable."""
    try:
        yield
    except UnknownTable as error:
        raise CouldNotLook(error.happened, error.found, error.remedy) from error


class ConfiguredJobs(Mapping[str, JobPorts]):
    """Job -> how it is reached. One that the configuration does not name any more cannot be asked: CouldNotLook."""

    def __init__(self, jobs: Mapping[str, JobPorts]) -> None:
        self._jobs = jobs

    def __getitem__(self, job: str) -> JobPorts:
        if job not in self._jobs:
            raise CouldNotLook(
                f"The job {job} is not configured.",
                f"Expected it in the configuration file, which names {', '.join(self._jobs) or 'no job'}.",
                "If it was renamed or removed there during an execution, restore the entry and restart Waterline.",
            )
        return self._jobs[job]

    def __contains__(self, job: object) -> bool:
        return job in self._jobs

    def __iter__(self) -> Iterator[str]:
        return iter(self._jobs)

    def __len__(self) -> int:
        return len(self._jobs)


@dataclass(frozen=True)
class CurrentState:
    table: TableState
    jobs: Mapping[str, JobPorts]
    load: Callable[[TableName], TableState]
    """Another table, read when it is needed. Raises CouldNotLook."""
    other_jobs: Sequence[str] = ()
    """Further configured jobs that are declared to write the table."""

    def live(self, job: str) -> list[JobId]:
        """The ids of the runs of a job that are not at their end. Raises CouldNotLook."""
        return [run.job_id for run in self.live_runs(job)]

    def live_runs(self, job: str) -> list[JobRun]:
        """The runs of a job that are not at their end. Raises CouldNotLook."""
        return [run for run in self.jobs[job].flink.runs(job) if not run.is_terminal]
