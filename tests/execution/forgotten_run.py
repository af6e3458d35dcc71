"""A rewind whose run was told to stop, and a cluster that has lost its memory of it."""

from collections.abc import Collection
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store
from bot.incident.decisions import ResolveUnknown
from bot.observation.errors import OutcomeUnknown
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, UserId
from bot.ports import Stopped
from bot.service.proposals.approving import Approvals
from tests.execution.scene import Scene as Approved
from tests.rewound import BEN, PROPOSAL, Nobody

EVE = UserId("U0EVE00009")


class Archive:
    """A history server that remembers these runs."""

    def __init__(self, *runs: JobRun) -> None:
        self._runs = {run.job_id: run for run in runs}

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        return tuple(run for run in self._runs.values() if run.name == job and run.job_id not in known)

    def past_run(self, job_id: JobId) -> JobRun | None:
        return self._runs.get(job_id)


class Scene(Approved):
    """An approved rewind that was begun; the answer to its stop is lost, and the run is forgotten."""

    def __init__(self, folder: Path, record: Store) -> None:
        super().__init__(folder, record)
        self.gone: JobRun | None = None
        stop = self.damaged.flink.stop

        def lost(job: str, job_id: JobId, **how: bool) -> Stopped:
            stop(job, job_id, **how)
            self.gone = self.damaged.flink.forgets(job_id)
            raise OutcomeUnknown("Flink did not answer.", "Expected an answer; the connection was cut.", "Look.")

        self.damaged.flink.stop = lost  # type: ignore[method-assign]
        self.begins()

    def settles(
        self, *, happened: bool, by: UserId = BEN, reason: str = "Nothing of it runs on any host.", index: int = 0
    ) -> None:
        proposals = self.damaged.executions(self.store)[1]
        approvals = Approvals(self.store, proposals, Nobody(), SystemClock())
        act = ResolveUnknown(index=index, happened=happened, reason=reason)
        approvals.act(self.incident, PROPOSAL, act, by=by)


@pytest.fixture
def scene(record: Store, tmp_path: Path) -> "Scene":
    return Scene(tmp_path, record)  # type: ignore[misc]
