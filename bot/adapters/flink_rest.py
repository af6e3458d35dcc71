"""One Flink cluster over its REST interface: what runs, stopping a run, starting one."""

import hashlib
from collections.abc import Callable, Collection, Iterator
from datetime import timedelta
from typing import TypeVar

import httpx
from pydantic import BaseModel, Field

from bot.adapters.flink_http import LATER, FlinkHttp, deepest_cause, polled, reason, waited_in_vain
from bot.adapters.flink_pages import CheckpointConfig, RunPages
from bot.adapters.flink_starting import Starter
from bot.adapters.http import Logins
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, short_job
from bot.ports import Stopped


def checkpoint_would_go(job_id: JobId, *, is_at_a_stop: bool) -> CommitRefused:
    """The refusal of a cancel before a start from one of the run's checkpoints.

    `is_at_a_stop`: a stop-with-savepoint was asked for before; else Flink deletes the checkpoints of a cancelled run.
    """
    if is_at_a_stop:
        found = "Flink is still doing a stop-with-savepoint of it that was requested before"
        remedy = "Wait until that stop has ended. Then collect evidence again and propose from the state that it left."
    else:
        found = "it deletes those of a cancelled run"
        remedy = (
            "Copy that checkpoint's folder away with all files that it references, stop the run by hand and start "
            "it from the copy. Or set execution.checkpointing.externalized-checkpoint-retention to "
            "RETAIN_ON_CANCELLATION."
        )
    return CommitRefused(
        f"Run {short_job(job_id)} was not cancelled: that would delete the checkpoint to start from.",
        f"Expected Flink to keep it; found: {found}.",
        remedy,
    )


_ENDED = frozenset({httpx.codes.NOT_FOUND, httpx.codes.CONFLICT})
"""To a cancel: the run ended in between, or is at its end already. The caller looks at its state."""


_LOOKED_PAST = 16
"""So many requests are looked for past the last that is known: Flink forgets what has ended after five minutes, and
never what is at work, so an early one may be gone while a later one is taking its savepoint."""


class _Phase(BaseModel):
    id: str


class _Cause(BaseModel):
    stack_trace: str = Field(default="", alias="stack-trace")


class _Operation(BaseModel):
    location: str | None = None
    failure: _Cause | None = Field(default=None, alias="failure-cause")

    @property
    def waited_in_vain(self) -> bool:
        """Whether Flink gave up waiting for it, so that it may happen though it counts as failed."""
        return self.location is None and self.failure is not None and waited_in_vain(self.failure.stack_trace)


class Asked(BaseModel):
    """`GET /jobs/:jid/savepoints/:trigger`."""

    status: _Phase
    operation: _Operation | None = None

    @property
    def has_failed(self) -> bool:
        """Whether it is over without a savepoint."""
        return self.status.id == "COMPLETED" and (self.operation is None or self.operation.location is None)

    @property
    def waited_in_vain(self) -> bool:
        return self.has_failed and self.operation is not None and self.operation.waited_in_vain


class Stop:
    """The end of one run that still lives; that it ended is awaited by the caller."""

    def __init__(
        self,
        http: FlinkHttp,
        savepoint_dir: str | None,
        run: JobRun,
        limit: timedelta,
        poll_s: float,
        *,
        needs_state: bool,
    ) -> None:
        """`needs_state`: as the port has it."""
        self._http = http
        self._savepoint_dir = savepoint_dir
        self._run = run
        self._limit_s = limit.total_seconds()
        self._poll_s = poll_s
        self._needs_state = needs_state
        self._doing = f"the stop of run {short_job(run.job_id)}"
        self._may_be_at_work = False
        """Whether Flink gave up waiting for the answer to an earlier request of ours, which may be carried out."""

    def end(self) -> Stopped:
        """How it was ended: stop-with-savepoint if it runs settled, else cancel.

        An earlier request of ours that Flink is still working on is followed, whatever the run looks like:
        halfway through a stop some operators have finished. Raises OutcomeUnknown, CouldNotLook.
        """
        trigger, is_asked = self._last_asked()
        if is_asked:
            return self._followed(trigger)
        if self._run.is_settled:
            return self._with_savepoint(trigger)
        return self._by_cancel(
            f"it was {self._run.state}", may_cancel=not self._needs_state or self._checkpoints_stay()
        )

    def keeping_checkpoints(self) -> Stopped:
        """Cancelled, and its retained checkpoints stay: Flink deletes them when a run ends with a savepoint.

        Raises CommitRefused where it would delete them by a cancel, too, or is at a stop that was asked for before:
        the run goes on. OutcomeUnknown, CouldNotLook.
        """
        _trigger, is_asked = self._last_asked()
        if is_asked or not self._checkpoints_stay():
            raise checkpoint_would_go(self._run.job_id, is_at_a_stop=is_asked)
        return self._by_cancel("the job is started from one of its checkpoints", may_cancel=True)

    def _last_asked(self) -> tuple[str, bool]:
        """The trigger id of the stop that is to be followed, or (False) that is free for a new one: Flink answers
        with the old failure for minutes, and the cause may be mended by now."""
        for trigger, told in _asked_for(self._http, self._run.job_id):
            if told is None or not told.has_failed:
                return trigger, told is not None
            self._may_be_at_work |= told.waited_in_vain
        raise AssertionError("unreachable")

    def _with_savepoint(self, trigger: str) -> Stopped:
        """Never drained (facts 0.6). The trigger id follows from the job id, so that a repeated request is
        the same operation."""
        body = {"targetDirectory": self._savepoint_dir, "drain": False, "triggerId": trigger}
        answer = self._http.send("POST", f"/jobs/{self._run.job_id}/stop", body, self._doing)
        if answer.is_success:
            return self._followed(trigger)
        said = reason(answer.content)
        if answer.status_code in LATER | {httpx.codes.REQUEST_TIMEOUT}:
            raise self._http.not_taken(self._doing, answer)
        return self._by_cancel(f"Flink refused a savepoint: {said}", may_cancel=not self._needs_state)

    def _followed(self, trigger: str) -> Stopped:
        try:
            told = self._outcome(trigger)
        except CouldNotLook as error:
            raise self._http.unknown(self._doing, f"{error.happened} {error.found}") from error
        name = f"Run {short_job(self._run.job_id)}"
        if told is None:
            # The JobManager forgot the operation (it keeps results for minutes): the run's state decides.
            lost = f"{name} was asked to stop with a savepoint; Flink no longer knows where that is."
            return Stopped(sentence=lost, savepoint=None)
        if told.location is not None:
            return Stopped(sentence=f"{name} was stopped with savepoint {told.location}.", savepoint=told.location)
        trace = told.failure.stack_trace if told.failure else ""
        failed = deepest_cause(trace) or "Flink gives no reason"
        if told.waited_in_vain:
            raise self._http.unknown(self._doing, failed)
        return self._by_cancel(f"its savepoint failed: {failed}", may_cancel=not self._needs_state)

    def _by_cancel(self, because: str, *, may_cancel: bool) -> Stopped:
        """Raises OutcomeUnknown, also while an earlier request may be taking its savepoint, which a cancel would lose;
        CouldNotLook, and CommitRefused where it must go on, as its state is needed."""
        if self._may_be_at_work:
            raise self._http.unknown(
                self._doing, f"an earlier request timed out within Flink and may still happen; now: {because}"
            )
        if not may_cancel:
            raise self._goes_on(because)
        kept = self._checkpoints_stay()
        answer = self._http.send("PATCH", f"/jobs/{self._run.job_id}?mode=cancel", None, self._doing)
        if answer.is_server_error:
            raise self._http.refused(self._doing, answer)
        if not answer.is_success and answer.status_code not in _ENDED:
            raise self._http.not_taken(self._doing, answer)
        then = "stay" if kept else "were deleted by Flink, which is not set to RETAIN_ON_CANCELLATION"
        sentence = (
            f"Run {short_job(self._run.job_id)} was cancelled without a savepoint ({because}); "
            f"its retained checkpoints {then}."
        )
        return Stopped(sentence=sentence, savepoint=None)

    def _goes_on(self, because: str) -> CommitRefused:
        return CommitRefused(
            f"Run {short_job(self._run.job_id)} was not stopped: that would leave no reliable state.",
            f"Expected a savepoint in {self._savepoint_dir or 'the default folder of the cluster'}; found: "
            f"{because.rstrip('.')}.",
            "Fix that cause, or wait until the run has recovered. Then propose again. The run continues.",
        )

    def _checkpoints_stay(self) -> bool:
        config = self._http.page(CheckpointConfig, f"/jobs/{self._run.job_id}/checkpoints/config")
        return config is not None and config.survives_cancel is True

    def _ended(self, trigger: str) -> tuple[_Operation | None] | None:
        """What became of the operation, None in it where Flink has forgotten it; None while it is at work."""
        told = _read(self._http, self._run.job_id, trigger)
        if told is None:
            return (None,)
        return (told.operation or _Operation(),) if told.status.id == "COMPLETED" else None

    def _outcome(self, trigger: str) -> _Operation | None:
        found = polled(lambda: self._ended(trigger), self._limit_s, self._poll_s)
        if found is not None:
            return found[0]
        raise OutcomeUnknown(
            f"It is not known whether {self._doing} happened.",
            f"Expected its savepoint within {self._limit_s:g} s; it is still in progress.",
            f"Watch it at {self._http.url} until it has ended, or cancel it there.",
        )


def savepoint_at_work(http: FlinkHttp, job_id: JobId) -> str | None:
    """A sentence about a stop of ours of this run that Flink has not ended, or of which it has lost sight; None where
    there is none. Raises CouldNotLook."""
    in_vain = False
    for trigger, told in _asked_for(http, job_id):
        if told is None:
            break
        if not told.has_failed:
            return f"Flink is still at its stop-with-savepoint (request {trigger})."
        in_vain |= told.waited_in_vain
    return "Flink gave up waiting for its stop-with-savepoint, which may still happen." if in_vain else None


def _asked_for(http: FlinkHttp, job_id: JobId) -> Iterator[tuple[str, Asked | None]]:
    """Each stop of this run that we have asked for and that Flink still knows, the oldest first; at last the trigger id
    that is free, with None. Raises CouldNotLook."""
    free = number = 0
    while number < free + _LOOKED_PAST:
        trigger = trigger_of(job_id, number)
        told = _read(http, job_id, trigger)
        number += 1
        if told is not None:
            free = number
            yield trigger, told
    yield trigger_of(job_id, free), None


def _read(http: FlinkHttp, job_id: JobId, trigger: str) -> Asked | None:
    return http.page(Asked, f"/jobs/{job_id}/savepoints/{trigger}")


def trigger_of(job_id: str, failed: int = 0) -> str:
    """The id of one stop of this run: 32 hex digits, the same at each try. `failed`: how many before it have."""
    again = f" {failed}" if failed else ""
    return hashlib.sha256(f"waterline stop {job_id}{again}".encode()).hexdigest()[:32]


T = TypeVar("T")


class FlinkRest:
    """Answers for every job of the cluster. Reads cost five calls a run, one more a vertex that failed over; a run that
    has ended is read once."""

    def __init__(
        self,
        url: str,
        *,
        savepoint_dir: str | None = None,
        starter: Starter | None = None,
        stop_limit: timedelta = timedelta(minutes=2),
        start_limit: timedelta = timedelta(minutes=1),
        poll_every: timedelta = timedelta(milliseconds=200),
        logins: Logins | None = None,
    ) -> None:
        """`savepoint_dir` None leaves the place to the cluster's default; `starter` None cannot start."""
        self._http = FlinkHttp(url, "Flink REST", logins=logins)
        self._pages = RunPages(self._http)
        self._savepoint_dir = savepoint_dir
        self._starter = starter
        self._stop_limit = stop_limit
        self._start_limit = start_limit
        self._poll_s = poll_every.total_seconds()
        self._ended: dict[str, dict[JobId, JobRun]] = {}
        """By the job's name: its runs that have ended, as they were read then."""
        self._others_ended: dict[JobId, JobRun] = {}

    def close(self) -> None:
        self._http.close()
        if self._starter is not None:
            self._starter.close()

    def runs(self, job: str) -> tuple[JobRun, ...]:
        ended = self._ended.get(job, {})
        told = [ended.get(job_id) or self.run(job_id) for job_id in self._pages.ids_of(job)]
        runs = tuple(run for run in told if run is not None)
        self._ended[job] = {run.job_id: run for run in runs if run.is_terminal}
        return runs

    def runs_of_others(self, job: str, among: Collection[JobId]) -> tuple[JobRun, ...]:
        ended = self._others_ended
        wanted = [job_id for job_id, name in self._pages.listed() if name != job and job_id in among]
        told = [ended.get(job_id) or self.run(job_id) for job_id in wanted]
        runs = tuple(run for run in told if run is not None)
        ended.update((run.job_id, run) for run in runs if run.is_terminal)
        return runs

    def run(self, job_id: JobId) -> JobRun | None:
        return self._pages.run(job_id)

    def stop(self, job: str, job_id: JobId, *, needs_state: bool = False, keeps_checkpoints: bool = False) -> Stopped:
        """See the port. Safe to repeat: the stop carries an id that Flink takes for one operation only."""
        run = self.run(job_id)
        if run is None:
            raise CouldNotLook(
                f"Run {short_job(job_id)} of {job} could not be stopped: Flink does not know it.",
                f"Expected it at {self._http.url}; found HTTP 404 (has the JobManager been restarted?).",
                "Make sure that nothing writes the table. Then collect evidence again and propose again.",
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
        return savepoint_at_work(self._http, job_id)

    def obstacle(self, job: str) -> str | None:  # noqa: ARG002 - each job has a starter of its own
        if self._starter is None:
            return "no way to start it is configured (`start` of this job in the configuration file)"
        return self._starter.obstacle()

    def declaration(self, job: str) -> str | None:  # noqa: ARG002 - each job has a starter of its own
        return None if self._starter is None else self._starter.declaration()

    def start(self, job: str, path: str, job_id: JobId) -> None:
        """See the port. Safe to repeat: a run that Flink knows under `job_id` is left as it is."""
        if self.run(job_id) is not None:
            return
        if self._starter is None:
            raise CommitRefused(
                f"Job {job} was not started: its `start` is not configured.",
                "Expected `start` of this job in the configuration file; found none.",
                f"Start it by hand from {path} with the job id {job_id}.",
            )
        try:
            self._starter.submit(path, job_id)
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
            f"It is not known whether {doing} happened.",
            f"Expected it within {limit.total_seconds():g} s; found {else_found}.",
            f"Look at {self._http.url}. Do not repeat it before that.",
        )


MAX_RUNS = 20
"""It keeps every run for years; the newest ones are what a recovery can be about."""


class FlinkHistory:
    """One history server. It serves the same pages as a JobManager, of terminal runs only, some seconds late
    (`historyserver.archive.fs.refresh-interval`)."""

    def __init__(self, url: str, *, logins: Logins | None = None) -> None:
        self._http = FlinkHttp(url, "The Flink history server", logins=logins)
        self._pages = RunPages(self._http, is_history=True)
        self.url = self._http.url

    def close(self) -> None:
        self._http.close()

    def past_runs(self, job: str, known: Collection[JobId]) -> tuple[JobRun, ...]:
        """See the port. Cost: five calls a run, for at most the newest 20."""
        wanted = [job_id for job_id in self._pages.ids_of(job) if job_id not in known][:MAX_RUNS]
        return tuple(run for job_id in wanted if (run := self._pages.run(job_id)) is not None)

    def past_run(self, job_id: JobId) -> JobRun | None:
        """See the port. Cost: five calls."""
        return self._pages.run(job_id)
