"""Flink's history server: the runs that a JobManager has forgotten, or that outlived it."""

from collections.abc import Collection

from bot.adapters.flink_http import FlinkHttp
from bot.adapters.flink_pages import RunPages
from bot.domain.flink import JobRun
from bot.domain.ids import JobId

MAX_RUNS = 20
"""It keeps every run for years; the newest ones are what a recovery can be about."""


class FlinkHistory:
    """One history server. It serves the same pages as a JobManager, of terminal runs only, some seconds late
    (`historyserver.archive.fs.refresh-interval`)."""

    def __init__(self, url: str, *, tape: dict[str, bytes] | None = None) -> None:
        """`tape`: see FlinkHttp."""
        self._http = FlinkHttp(url, "The Flink history server", tape=tape)
        self._pages = RunPages(self._http, is_history=True)
        self.url = self._http.url

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        """See the port. Cost: five calls a run, for at most the newest 20."""
        wanted = [job_id for job_id in self._pages.ids_of(job) if job_id not in known][:MAX_RUNS]
        return tuple(run for job_id in wanted if (run := self._pages.run(job_id)) is not None)

    def past_run(self, job_id: JobId) -> JobRun | None:
        """See the port. Cost: five calls."""
        return self._pages.run(job_id)
