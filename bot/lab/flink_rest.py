"""REST interfaces of Flink as far as someone who operates a job by hand uses them: JobManager and SQL gateway."""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import httpx
from pydantic import BaseModel, Field

from bot.lab.errors import LabError, until

SavepointFormat = Literal["CANONICAL", "NATIVE"]
"""Flink's own default, or the state backend's own format."""


class _Job(BaseModel):
    jid: str
    name: str
    state: str


class _Jobs(BaseModel):
    jobs: tuple[_Job, ...]


class _Checkpoint(BaseModel):
    id: int
    status: str


class _Checkpoints(BaseModel):
    history: tuple[_Checkpoint, ...] = ()


class _Failure(BaseModel):
    stacktrace: str


class _History(BaseModel):
    entries: tuple[_Failure, ...] = ()


class _Exceptions(BaseModel):
    history: _History = Field(default=_History(), alias="exceptionHistory")


class _Phase(BaseModel):
    id: str


class _Operation(BaseModel):
    location: str | None = None
    failure: dict[str, str] | None = Field(default=None, alias="failure-cause")


class _Asked(BaseModel):
    status: _Phase
    operation: _Operation | None = None


class _RequestId(BaseModel):
    request_id: str = Field(alias="request-id")


class _Overview(BaseModel):
    taskmanagers: int


class _Subtask(BaseModel):
    taskmanager: str = Field(alias="taskmanager-id")


class _Vertex(BaseModel):
    id: str
    name: str = ""
    subtasks: tuple[_Subtask, ...] = ()


class _Graph(BaseModel):
    vertices: tuple[_Vertex, ...]


class FlinkRest:
    """Asks one JobManager. Reads are safe to repeat; `savepoint`, `stop` and `cancel` are not retried."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=20, trust_env=False)

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def taskmanagers(self) -> int | None:
        """How many TaskManagers are registered; None while the JobManager does not answer."""
        try:
            answer = self._http.get("/overview")
        except httpx.TransportError:
            return None
        return _Overview.model_validate_json(answer.content).taskmanagers if answer.is_success else None

    def state_of(self, job_id: str) -> str | None:
        """RUNNING, FINISHED and so on; None when the job is not known."""
        states = {job.jid: job.state for job in self._jobs()}
        return states.get(job_id)

    def running(self) -> list[str]:
        """The ids of jobs that have not ended."""
        ended = {"FINISHED", "CANCELED", "FAILED"}
        return [job.jid for job in self._jobs() if job.state not in ended]

    def completed(self, job_id: str) -> list[int]:
        """Ids of the completed checkpoints that Flink still lists, newest first."""
        return self._checkpoints(job_id, "COMPLETED")

    def failed(self, job_id: str) -> list[int]:
        """Ids of the failed checkpoints that Flink still lists, newest first."""
        return self._checkpoints(job_id, "FAILED")

    def failures(self, job_id: str) -> list[str]:
        """Stack traces of the job's failures that Flink still lists, newest first."""
        answer = self._http.get(f"/jobs/{job_id}/exceptions").raise_for_status()
        return [each.stacktrace for each in _Exceptions.model_validate_json(answer.content).history.entries]

    def places(self, job_id: str) -> dict[str, tuple[str, ...]]:
        """Name of each vertex of the job -> the TaskManagers of its subtasks, in their order."""
        answer = self._http.get(f"/jobs/{job_id}").raise_for_status()
        placed = {}
        for vertex in _Graph.model_validate_json(answer.content).vertices:
            told = self._http.get(f"/jobs/{job_id}/vertices/{vertex.id}").raise_for_status()
            subtasks = _Vertex.model_validate_json(told.content).subtasks
            placed[vertex.name] = tuple(subtask.taskmanager for subtask in subtasks)
        return placed

    def savepoint(self, job_id: str, folder: str, then_cancel: bool = False) -> str:
        """Takes an intermediate savepoint; the job goes on, or is cancelled without another commit. `folder` is a URI,
        and so is the answer."""
        request = {"target-directory": folder, "cancel-job": then_cancel}
        return self._taken(job_id, "savepoints", request)

    def stop(self, job_id: str, folder: str, drain: bool = False, form: SavepointFormat = "CANONICAL") -> str:
        """Stops the job with a savepoint; undrained, it pairs with the table."""
        return self._taken(job_id, "stop", {"targetDirectory": folder, "drain": drain, "formatType": form})

    def cancel(self, job_id: str) -> None:
        """Cancels the job and waits until it has ended; its checkpoints are retained."""
        self._http.patch(f"/jobs/{job_id}", params={"mode": "cancel"}).raise_for_status()
        until(
            f"job {job_id} to end", lambda: None if job_id in self.running() else True, 30, f"{self.url}/#/job/{job_id}"
        )

    def _checkpoints(self, job_id: str, status: str) -> list[int]:
        answer = self._http.get(f"/jobs/{job_id}/checkpoints")
        if answer.status_code == httpx.codes.NOT_FOUND:
            return []
        history = _Checkpoints.model_validate_json(answer.content).history
        return [checkpoint.id for checkpoint in history if checkpoint.status == status]

    def _jobs(self) -> tuple[_Job, ...]:
        answer = self._http.get("/jobs/overview").raise_for_status()
        return _Jobs.model_validate_json(answer.content).jobs

    def _taken(self, job_id: str, verb: str, request: dict[str, object]) -> str:
        asked = self._http.post(f"/jobs/{job_id}/{verb}", json=request).raise_for_status()
        trigger = _RequestId.model_validate_json(asked.content).request_id

        def outcome() -> _Asked | None:
            answer = self._http.get(f"/jobs/{job_id}/savepoints/{trigger}").raise_for_status()
            told = _Asked.model_validate_json(answer.content)
            return told if told.status.id == "COMPLETED" else None

        done = until(f"the savepoint of job {job_id}", outcome, 120, f"{self.url}/#/job/{job_id}/checkpoints")
        if done.operation is None or done.operation.location is None:
            raise LabError(
                f"Flink did not take the savepoint of job {job_id}.",
                f"Expected a location; found {done.operation.failure if done.operation else 'nothing'}.",
                f"Look at {self.url}/#/job/{job_id}/exceptions.",
            )
        return done.operation.location


class _Session(BaseModel):
    handle: str = Field(alias="sessionHandle")


class _Statement(BaseModel):
    handle: str = Field(alias="operationHandle")


class _Status(BaseModel):
    status: str


class _Row(BaseModel):
    fields: list[object]


class _Rows(BaseModel):
    data: list[_Row] = []


class _Result(BaseModel):
    job_id: str | None = Field(default=None, alias="jobID")
    results: _Rows = _Rows()


class _Refusal(BaseModel):
    errors: list[str]


class SqlGateway:
    """Runs SQL as whoever operates the job would."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False)

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def is_ready(self) -> bool | None:
        """True when the gateway answers, None before."""
        try:
            return self._http.get("/v1/info").is_success or None
        except httpx.TransportError:
            return None

    def submit(self, statements: Sequence[str], properties: Mapping[str, str]) -> str:
        """Runs the statements in one session; the answer is the id of the job that the last one started.

        Not retried: a second call starts a second job. Raises: LabError with the gateway's own words.
        """
        opened = self._http.post("/v1/sessions", json={"properties": dict(properties)}).raise_for_status()
        session = f"/v1/sessions/{_Session.model_validate_json(opened.content).handle}"
        try:
            results = [self._run(session, statement) for statement in statements]
        finally:
            self._http.delete(session)
        job_id = results[-1].job_id
        if job_id is None:
            raise LabError(
                "The statements started no job.",
                f"Expected a job id from the last statement; found {results[-1].results.data}.",
                "Read the gateway's log in the lab's logs folder.",
            )
        return job_id

    def _run(self, session: str, statement: str) -> _Result:
        asked = self._http.post(f"{session}/statements", json={"statement": statement}).raise_for_status()
        operation = f"{session}/operations/{_Statement.model_validate_json(asked.content).handle}"

        def ended() -> str | None:
            answer = self._http.get(f"{operation}/status").raise_for_status()
            status = _Status.model_validate_json(answer.content).status
            return status if status in {"FINISHED", "ERROR", "CANCELED"} else None

        until(f"the statement {statement[:40]!r}", ended, 90, "the gateway's log in the lab's logs folder")
        answer = self._http.get(f"{operation}/result/0", params={"rowFormat": "JSON"})
        if not answer.is_success:
            raise LabError(
                f"Flink refused the statement {statement[:60]!r}.",
                f"Expected it to run; the gateway answered {answer.status_code}: {_reasons(answer)}",
                "Read the gateway's log in the lab's logs folder.",
            )
        return _Result.model_validate_json(answer.content)


def _reasons(answer: httpx.Response) -> str:
    """The exceptions that the gateway names, innermost last; its first words when it names none."""
    text = "\n".join(_Refusal.model_validate_json(answer.content).errors)
    named = dict.fromkeys(re.findall(r"^(?:Caused by: )?(?:\w+\.)+(\w+(?:Exception|Error): [^\n]+)", text, re.M))
    return "; ".join(list(named)[-4:]) or text[:400]
