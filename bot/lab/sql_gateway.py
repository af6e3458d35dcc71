"""The SQL gateway's REST interface: open a session, run statements, learn the job's id."""

import re
from collections.abc import Mapping, Sequence

import httpx
from pydantic import BaseModel, Field

from bot.lab.errors import LabError
from bot.lab.waiting import until


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
