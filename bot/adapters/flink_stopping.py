"""Ends one run: stop-with-savepoint where it can work, else cancel."""

import hashlib
import time
from datetime import timedelta

from pydantic import BaseModel, Field, ValidationError

from bot.adapters.flink_bodies import CheckpointConfig
from bot.adapters.flink_http import FlinkHttp, reason
from bot.domain.errors import CouldNotLook, OutcomeUnknown
from bot.domain.flink import JobRun
from bot.domain.ids import short_job
from bot.ports import Stopped


class _Phase(BaseModel):
    id: str


class _Cause(BaseModel):
    class_name: str = Field(default="", alias="class")
    stack_trace: str = Field(default="", alias="stack-trace")


class _Operation(BaseModel):
    location: str | None = None
    failure: _Cause | None = Field(default=None, alias="failure-cause")


class Asked(BaseModel):
    """`GET /jobs/:jid/savepoints/:trigger`."""

    status: _Phase
    operation: _Operation | None = None


class Stop:
    """The end of one run that still lives; that it ended is awaited by the caller."""

    def __init__(
        self, http: FlinkHttp, savepoint_dir: str | None, run: JobRun, limit: timedelta, poll_s: float
    ) -> None:
        self._http = http
        self._savepoint_dir = savepoint_dir
        self._run = run
        self._limit_s = limit.total_seconds()
        self._poll_s = poll_s
        self._doing = f"the stop of run {short_job(run.job_id)}"
        self._trigger = trigger_of(run.job_id)
        self._operation = f"/jobs/{run.job_id}/savepoints/{self._trigger}"

    def end(self) -> Stopped:
        """How it was ended: stop-with-savepoint if it runs settled, else cancel.

        An earlier request of ours that Flink is still working on is followed, whatever the run looks like:
        halfway through a stop some operators have finished. Raises OutcomeUnknown, CouldNotLook.
        """
        if self._run.is_settled:
            return self._with_savepoint()
        if self._http.get(self._operation) is not None:
            return self._followed()
        return self._by_cancel(f"it was {self._run.state}")

    def _with_savepoint(self) -> Stopped:
        """Never drained (facts 0.6). The trigger id follows from the job id, so that a repeated request is
        the same operation."""
        body = {"targetDirectory": self._savepoint_dir, "drain": False, "triggerId": self._trigger}
        answer = self._http.send("POST", f"/jobs/{self._run.job_id}/stop", body, self._doing)
        if not answer.is_success:
            return self._by_cancel(f"Flink refused a savepoint: {reason(answer.content)}")
        return self._followed()

    def _followed(self) -> Stopped:
        try:
            told = self._outcome()
        except CouldNotLook as error:
            raise self._http.unknown(self._doing, f"{error.happened} {error.found}") from error
        name = f"Run {short_job(self._run.job_id)}"
        if told is None:
            # The JobManager forgot the operation (it keeps results for minutes): the run's state decides.
            lost = f"{name} was told to stop with a savepoint; where that is, Flink no longer knows."
            return Stopped(sentence=lost, savepoint=None)
        if told.location is not None:
            return Stopped(sentence=f"{name} was stopped with savepoint {told.location}.", savepoint=told.location)
        return self._by_cancel(f"its savepoint failed: {_words(told.failure)}")

    def _by_cancel(self, because: str) -> Stopped:
        """Raises OutcomeUnknown, CouldNotLook."""
        kept = self._checkpoints_stay()
        answer = self._http.send("PATCH", f"/jobs/{self._run.job_id}?mode=cancel", None, self._doing)
        # 404: it ended in between; 409: it is at its end already. The caller looks at its state.
        if not answer.is_success and answer.status_code not in {404, 409}:
            raise self._http.refused(self._doing, answer)
        then = "stay" if kept else "were deleted by Flink, which is not set to RETAIN_ON_CANCELLATION"
        sentence = (
            f"Run {short_job(self._run.job_id)} was cancelled without a savepoint ({because}); "
            f"its retained checkpoints {then}."
        )
        return Stopped(sentence=sentence, savepoint=None)

    def _checkpoints_stay(self) -> bool:
        body = self._http.get(f"/jobs/{self._run.job_id}/checkpoints/config")
        try:
            return body is not None and CheckpointConfig.model_validate_json(body).survives_cancel is True
        except ValidationError as error:
            raise self._http.garbled("GET checkpoints/config", error) from error

    def _outcome(self) -> _Operation | None:
        ends = time.monotonic() + self._limit_s
        while time.monotonic() < ends:
            body = self._http.get(self._operation)
            if body is None:
                return None
            try:
                told = Asked.model_validate_json(body)
            except ValidationError as error:
                raise self._http.unknown(self._doing, f"an answer that cannot be read: {error}") from error
            if told.status.id == "COMPLETED":
                return told.operation or _Operation()
            time.sleep(self._poll_s)
        raise OutcomeUnknown(
            f"Whether {self._doing} happened is not known.",
            f"Expected its savepoint within {self._limit_s:g} s; found it still in progress.",
            f"Look at {self._http.url} until it has ended, or cancel it there.",
        )


def trigger_of(job_id: str) -> str:
    """The id of the one stop that this run gets: 32 hex digits, the same at each try."""
    return hashlib.sha256(f"waterline stop {job_id}".encode()).hexdigest()[:32]


def _words(cause: _Cause | None) -> str:
    if cause is None:
        return "Flink gives no reason"
    lines = [line.strip() for line in cause.stack_trace.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes[-1] if causes else lines[0] if lines else cause.class_name)[:300]
