"""REST interfaces of Flink as far as someone who operates a job by hand uses them: JobManager and SQL gateway."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx

from bot.lab.errors import LabError, until

SavepointFormat = Literal["CANONICAL", "NATIVE"]
"""Flink's own default, or the state backend's own format."""
_ENDED = {"FINISHED", "CANCELED", "FAILED"}
_GATEWAYS_LOG = "the gateway's log in the lab's logs folder"


class FlinkRest:
    """Asks one JobManager. Reads are safe to repeat; `savepoint`, `stop` and `cancel` are not retried."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = httpx.Client(base_url=url, timeout=20, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def taskmanagers(self) -> int | None:
        """How many TaskManagers are registered; None while the JobManager does not answer."""
        try:
            answer = self._http.get("/overview")
        except httpx.TransportError:
            return None
        return int(answer.json()["taskmanagers"]) if answer.is_success else None

    def state_of(self, job_id: str) -> str | None:
        """RUNNING, FINISHED and so on; None when the job is not known."""
        return self._states().get(job_id)

    def running(self) -> list[str]:
        return [job for job, state in self._states().items() if state not in _ENDED]

    def completed(self, job_id: str) -> list[int]:
        """Ids of the completed checkpoints that Flink still lists, newest first."""
        return self._checkpoints(job_id, "COMPLETED")

    def failed(self, job_id: str) -> list[int]:
        return self._checkpoints(job_id, "FAILED")

    def failures(self, job_id: str) -> list[str]:
        """Stack traces of the job's failures that Flink still lists, newest first."""
        return [each["stacktrace"] for each in self._read(f"/jobs/{job_id}/exceptions")["exceptionHistory"]["entries"]]

    def places(self, job_id: str) -> dict[str, tuple[str, ...]]:
        """Name of each vertex of the job -> the TaskManagers of its subtasks, in their order."""
        vertices = {each["name"]: each["id"] for each in self._read(f"/jobs/{job_id}")["vertices"]}
        subtasks = {name: self._read(f"/jobs/{job_id}/vertices/{each}")["subtasks"] for name, each in vertices.items()}
        return {name: tuple(each["taskmanager-id"] for each in told) for name, told in subtasks.items()}

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
        return [each["id"] for each in answer.json()["history"] if each["status"] == status]

    def _states(self) -> dict[str, str]:
        return {job["jid"]: job["state"] for job in self._read("/jobs/overview")["jobs"]}

    def _read(self, path: str) -> Any:
        return self._http.get(path).raise_for_status().json()

    def _taken(self, job_id: str, verb: str, request: dict[str, object]) -> str:
        asked = self._http.post(f"/jobs/{job_id}/{verb}", json=request).raise_for_status()
        savepoint = f"/jobs/{job_id}/savepoints/{asked.json()['request-id']}"

        def outcome() -> dict[str, Any] | None:
            told: dict[str, Any] = self._read(savepoint)
            return told.get("operation") or {} if told["status"]["id"] == "COMPLETED" else None

        done = until(f"the savepoint of job {job_id}", outcome, 120, f"{self.url}/#/job/{job_id}/checkpoints")
        if done.get("location") is None:
            raise LabError(
                f"Flink did not take the savepoint of job {job_id}.",
                f"Expected a location; found {done.get('failure-cause')}.",
                f"Look at {self.url}/#/job/{job_id}/exceptions.",
            )
        return str(done["location"])


class SqlGateway:
    """Runs SQL as whoever operates the job would."""

    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, timeout=60, trust_env=False)

    def close(self) -> None:
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
        session = f"/v1/sessions/{self._sent('/v1/sessions', {'properties': dict(properties)})['sessionHandle']}"
        try:
            results = [self._run(session, statement) for statement in statements]
        finally:
            self._http.delete(session)
        job_id = results[-1].get("jobID")
        if job_id is None:
            raise LabError(
                "The statements started no job.",
                f"Expected a job id from the last statement; found {results[-1]['results']}.",
                f"Read {_GATEWAYS_LOG}.",
            )
        return str(job_id)

    def _sent(self, path: str, body: Mapping[str, object]) -> dict[str, Any]:
        told: dict[str, Any] = self._http.post(path, json=body).raise_for_status().json()
        return told

    def _run(self, session: str, statement: str) -> dict[str, Any]:
        asked = self._sent(f"{session}/statements", {"statement": statement})
        operation = f"{session}/operations/{asked['operationHandle']}"

        def ended() -> bool | None:
            status = self._http.get(f"{operation}/status").raise_for_status().json()["status"]
            return status in {"FINISHED", "ERROR", "CANCELED"} or None

        until(f"the statement {statement[:40]!r}", ended, 90, _GATEWAYS_LOG)
        answer = self._http.get(f"{operation}/result/0", params={"rowFormat": "JSON"})
        if not answer.is_success:
            raise LabError(
                f"Flink refused the statement {statement[:60]!r}.",
                f"Expected it to run; the gateway answered {answer.status_code}: {_reasons(answer)}",
                f"Read {_GATEWAYS_LOG}.",
            )
        result: dict[str, Any] = answer.json()
        return result


def _reasons(answer: httpx.Response) -> str:
    """The exceptions that the gateway names, innermost last; its first words when it names none."""
    text = "\n".join(answer.json()["errors"])
    named = dict.fromkeys(re.findall(r"^(?:Caused by: )?(?:\w+\.)+(\w+(?:Exception|Error): [^\n]+)", text, re.M))
    return "; ".join(list(named)[-4:]) or text[:400]
