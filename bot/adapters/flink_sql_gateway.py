"""Starts a SQL job through Flink's SQL gateway: one session, its statements, the last one is the INSERT."""

import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, Field, ValidationError

from bot.adapters.flink_http import FlinkHttp, reason
from bot.adapters.flink_starting import (
    CLAIM_MODE,
    IGNORE_UNCLAIMED,
    JOB_ID,
    NO_CLAIM,
    RECOVERY_PATH,
    UID_SUFFIX,
    digest_of,
    is_started,
)
from bot.adapters.polling import polled
from bot.domain.errors import CouldNotLook, OutcomeUnknown
from bot.domain.ids import JobId, short_job

_WRONG = re.compile(r"org\.apache\.(flink\.table\.api\.(Validation|SqlParser)Exception|flink\.sql\.parser\.|calcite\.)")
"""Deepest causes of a statement that is wrong in itself; any other, such as a catalog that is away, may mend."""
B = TypeVar("B", bound=BaseModel)


class _Session(BaseModel):
    handle: str = Field(alias="sessionHandle")


class _Operation(BaseModel):
    handle: str = Field(alias="operationHandle")


class _Status(BaseModel):
    status: str


class SqlGatewayStart:
    """Runs the job's statements with the restore point and the job id as session properties.

    Nothing is submitted before the last statement, so a failure of an earlier one is surely no start.
    """

    def __init__(
        self,
        url: str,
        statements: Sequence[str],
        properties: Mapping[str, str],
        *,
        uid_suffix: str = "",
        limit_s: float = 90.0,
        poll_s: float = 0.1,
    ) -> None:
        self._http = FlinkHttp(url, "The SQL gateway", read_limit_s=limit_s)
        self._statements = tuple(statements)
        self._uid_suffix = uid_suffix
        self._properties = dict(properties)
        self._limit_s = limit_s
        self._poll_s = poll_s

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def obstacle(self) -> str | None:
        """Only that the gateway answers: what Flink thinks of the statements is known when they are run, and none of
        them is run before a proposal is approved. Raises CouldNotLook."""
        return None if self._http.get("/v1/info") is not None else f"{self._http.url} is no SQL gateway"

    def declaration(self) -> str:
        """See Starter."""
        told = {"statements": self._statements, "properties": self._properties, "suffix": self._uid_suffix}
        return digest_of(told)

    def submit(self, path: str, job_id: JobId, *, allow_non_restored: bool, uid_suffix: str | None) -> None:
        """One session, closed again. Raises CommitRefused and CouldNotLook (surely not submitted), OutcomeUnknown."""
        pinned = {
            RECOVERY_PATH: path,
            CLAIM_MODE: NO_CLAIM,
            JOB_ID: job_id,
            IGNORE_UNCLAIMED: str(allow_non_restored).lower(),
            "table.dml-sync": "false",
        }
        suffix = self._uid_suffix if uid_suffix is None else uid_suffix
        try:
            opened = self._send("/v1/sessions", {"properties": {**self._properties, **pinned}}, _Session)
        except (CouldNotLook, OutcomeUnknown) as error:
            raise _nothing_submitted(error, "no session was opened") from error
        session = f"/v1/sessions/{opened.handle}"
        doing = f"the start of run {short_job(job_id)}"
        try:
            for number, declared in enumerate(self._statements, start=1):
                statement = declared.replace(UID_SUFFIX, suffix)
                self._run(session, statement, doing, submits=number == len(self._statements))
        finally:
            self._close(session)

    def _run(self, session: str, statement: str, doing: str, *, submits: bool) -> None:
        try:
            asked = self._send(f"{session}/statements", {"statement": statement}, _Operation)
            operation = f"{session}/operations/{asked.handle}"
            ended = self._await(operation, statement)
            answer = self._http.send("GET", f"{operation}/result/0?rowFormat=JSON", None, doing)
        except (CouldNotLook, OutcomeUnknown) as error:
            if not submits:
                raise _nothing_submitted(error, "a statement before its INSERT failed") from error
            raise self._http.unknown(doing, f"{error.happened} {error.found}") from error
        if answer.is_success:
            return
        if not submits:
            is_wrong = ended == "ERROR" and _WRONG.match(reason(answer.content))
            no = self._http.said_no if is_wrong else self._http.refused
            raise no(f"the statement {_shown(statement)}", answer)
        if not is_started(self._http, answer, doing):
            if ended == "ERROR":
                raise self._http.said_no(doing, answer)
            raise self._http.unknown(doing, f"HTTP {answer.status_code}: {reason(answer.content)}")

    def _await(self, operation: str, statement: str) -> str:
        """Until the statement has ended, well or badly: its result then says which. Returns its status; `LOST` where
        the gateway does not know it any more."""

        def ended() -> str | None:
            body = self._http.get(f"{operation}/status")
            status = "LOST" if body is None else self._read(_Status, body, "the status").status
            return status if status in {"FINISHED", "ERROR", "CANCELED", "LOST"} else None

        status = polled(ended, self._limit_s, self._poll_s)
        if status is not None:
            return status
        raise OutcomeUnknown(
            f"The statement {_shown(statement)} has not ended.",
            f"Expected its end within {self._limit_s:g} s; it still runs on the gateway at {self._http.url}.",
            "Look at Flink's list of jobs before anything is started again.",
        )

    def _send(self, path: str, body: dict[str, object], kind: type[B]) -> B:
        answer = self._http.send("POST", path, body, "a statement")
        if not answer.is_success:
            raise self._http.not_taken(f"POST {path.rsplit('/', 1)[-1]}", answer)
        return self._read(kind, answer.content, path)

    def _read(self, kind: type[B], body: bytes, asked: str) -> B:
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise self._http.garbled(asked, error) from error

    def _close(self, session: str) -> None:
        """The gateway drops idle sessions by itself, so a failure here is of no consequence."""
        try:
            self._http.send("DELETE", session, None, "the end of the session")
        except (CouldNotLook, OutcomeUnknown):
            return


def _nothing_submitted(error: CouldNotLook | OutcomeUnknown, failed: str) -> CouldNotLook:
    """A failure before the last statement, whatever it was, started no job."""
    return CouldNotLook(
        f"The job was not started: {failed}.",
        f"{error.happened} {error.found}",
        "Mend the cause, then execute again; nothing was submitted.",
    )


def _shown(statement: str) -> str:
    first = " ".join(statement.split())
    return repr(first if len(first) <= 60 else first[:59] + "…")
