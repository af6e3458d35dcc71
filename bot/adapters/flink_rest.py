"""One Flink cluster over its REST interface: what runs, stopping a run, starting one.

Flink's history server: the runs that a JobManager has forgotten, or that outlived it.
"""

from collections.abc import Callable, Collection
from datetime import timedelta
from typing import TypeVar

from bot.adapters.flink_http import FlinkHttp
from bot.adapters.flink_pages import RunPages
from bot.adapters.flink_starting import Starter
from bot.adapters.flink_stopping import Stop, savepoint_at_work
from bot.adapters.polling import polled
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, short_job
from bot.ports import Stopped

T = TypeVar("T")


class FlinkRest:
    """Answers for every job of the cluster. Reads cost five calls a run, one more a vertex that failed over."""

    def __init__(
        self,
        url: str,
        *,
        savepoint_dir: str | None = None,
        starter: Starter | None = None,
        stop_limit: timedelta = timedelta(minutes=2),
        start_limit: timedelta = timedelta(minutes=1),
        poll_every: timedelta = timedelta(milliseconds=200),
        tape: dict[str, bytes] | None = None,
    ) -> None:
        """`savepoint_dir` None leaves the place to the cluster's default; `starter` None cannot start."""
        self._http = FlinkHttp(url, "Flink REST", tape=tape)
        self._pages = RunPages(self._http)
        self._savepoint_dir = savepoint_dir
        self._starter = starter
        self._stop_limit = stop_limit
        self._start_limit = start_limit
        self._poll_s = poll_every.total_seconds()

    def close(self) -> None:
        """Gives the connections back, the starter's too."""
        self._http.close()
        if self._starter is not None:
            self._starter.close()

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """Every submission named `job`, newest first. Raises CouldNotLook."""
        told = [self.run(job_id) for job_id in self._pages.ids_of(job)]
        return tuple(run for run in told if run is not None)

    def run(self, job_id: JobId) -> JobRun | None:
        """One submission; None if Flink does not know it. Raises CouldNotLook."""
        return self._pages.run(job_id)

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        """See the port. Safe to repeat: the stop carries an id that Flink takes for one operation only."""
        run = self.run(job_id)
        if run is None:
            raise CouldNotLook(
                f"Run {short_job(job_id)} of {job} could not be stopped: Flink does not know it.",
                f"Expected it at {self._http.url}; found HTTP 404 (has the JobManager been restarted?).",
                "Make sure that nothing writes the table, then collect evidence again and propose anew.",
            )
        if run.is_terminal:
            told = f"Run {short_job(job_id)} had ended already: it is {run.state}; nothing was done."
            return Stopped(sentence=told, savepoint=None)
        stop = Stop(self._http, self._savepoint_dir, run, self._stop_limit, self._poll_s, needs_state=needs_state)
        stopped = stop.keeping_checkpoints() if keeps_checkpoints else stop.end()
        state = self._await_end(job_id)
        return stopped.model_copy(update={"sentence": f"{stopped.sentence} It is {state}."})

    def still_asked_to_stop(self, job_id: JobId) -> str | None:  # noqa: ARG002 - a stop is one request
        """See the port: nothing keeps a request for another time."""
        return None

    def stop_at_work(self, job_id: JobId) -> str | None:
        """See the port."""
        return savepoint_at_work(self._http, job_id)

    def obstacle(self, job: str) -> str | None:  # noqa: ARG002 - each job has a starter of its own
        """See the port."""
        if self._starter is None:
            return "no way to start it is configured (`start` of this job in the configuration file)"
        return self._starter.obstacle()

    def declaration(self, job: str) -> str | None:  # noqa: ARG002 - each job has a starter of its own
        """See the port."""
        return None if self._starter is None else self._starter.declaration()

    def start(
        self, job: str, path: str, job_id: JobId, *, allow_non_restored: bool = False, uid_suffix: str | None = None
    ) -> None:
        """See the port. Safe to repeat: a run that Flink knows under `job_id` is left as it is."""
        if self.run(job_id) is not None:
            return
        if self._starter is None:
            raise CommitRefused(
                f"Job {job} was not started: no way to start it is configured.",
                "Expected `start` of this job in the configuration file; found none.",
                f"Start it by hand from {path} with the job id {job_id}.",
            )
        try:
            self._starter.submit(path, job_id, allow_non_restored=allow_non_restored, uid_suffix=uid_suffix)
        except (CouldNotLook, OutcomeUnknown):
            # The id was chosen before, so Flink itself can say whether this submission arrived after all.
            if self._lives(job_id):
                return
            raise
        self._until(
            lambda: self.run(job_id),
            self._start_limit,
            f"the start of run {short_job(job_id)}",
            "no run under that id, though the submission was accepted",
        )

    def still_asked_to_start(self, job_id: JobId) -> str | None:  # noqa: ARG002 - a start is one request
        """See the port: nothing keeps a request for another time."""
        return None

    def _lives(self, job_id: JobId) -> bool:
        try:
            run = self.run(job_id)
        except CouldNotLook:
            return False
        return run is not None and not run.is_terminal

    def _await_end(self, job_id: JobId) -> str:
        """The terminal state, or GONE when Flink forgot the run meanwhile."""

        def ended() -> str | None:
            state = self._pages.state_of(job_id)
            if state is None:
                return "GONE"
            return state if state in {"FINISHED", "CANCELED", "FAILED"} else None

        return self._until(ended, self._stop_limit, f"the end of run {short_job(job_id)}", "it still runs")

    def _until(self, ask: Callable[[], T | None], limit: timedelta, doing: str, else_found: str) -> T:
        """Asks until there is an answer. Raises OutcomeUnknown at the limit or when Flink is lost."""
        try:
            answer = polled(ask, limit.total_seconds(), self._poll_s)
        except CouldNotLook as error:
            raise self._http.unknown(doing, f"{error.happened} {error.found}") from error
        if answer is not None:
            return answer
        raise OutcomeUnknown(
            f"Whether {doing} happened is not known.",
            f"Expected it within {limit.total_seconds():g} s; found {else_found}.",
            f"Look at {self._http.url}; do not repeat it before that.",
        )


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
