"""Ways to submit a job from a restore point under an id that was chosen before: the port and the jar."""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Protocol, TypeVar

import httpx
from pydantic import BaseModel, Field

from bot.adapters.flink_http import FlinkHttp, polled, reason, trace_of
from bot.adapters.http import Logins
from bot.observation.errors import CouldNotLook, OutcomeUnknown
from bot.observation.ids import JobId, short_job
from bot.settings import JarStartSettings, SqlGatewayStartSettings


def digest_of(declared: Mapping[str, object]) -> str:
    """64 hex digits, the same for the same declaration in any order of its keys. Statements may hold secrets: nothing
    else of them is told."""
    told = json.dumps(declared, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(told.encode()).hexdigest()


DUPLICATE = ("DuplicateJobSubmissionException", "already been submitted")
"""Flink's words when a run with this id exists: then it is started, by an earlier try."""
RECOVERY_PATH = "execution.state-recovery.path"
CLAIM_MODE = "execution.state-recovery.claim-mode"
NO_CLAIM = "NO_CLAIM"
"""A start never takes its restore point over: Flink would delete it with the run, or once newer checkpoints replace it,
and with it the way back. Whatever the cluster or the declared properties say."""
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
JOB_ID = "$internal.pipeline.job-id"
"""The setting that gives a run its id; without it the cluster chooses one."""


class Starter(Protocol):
    def submit(self, path: str, job_id: JobId) -> None:
        """Submit once; state that no operator takes is refused by Flink. Returns when the cluster accepted the run, or
        has it already.

        Raises CommitRefused and CouldNotLook (surely not submitted), OutcomeUnknown.
        """

    def obstacle(self) -> str | None:
        """What would keep it from being accepted, as a clause; None where nothing is known. Raises CouldNotLook."""

    def declaration(self) -> str:
        """The digest of what `submit` sends beside restore point and job id, as it is configured."""

    def close(self) -> None: ...


class _Jar(BaseModel):
    id: str


class _Jars(BaseModel):
    files: tuple[_Jar, ...] = ()


class JarStart:
    """Runs a jar that was uploaded to the cluster: `POST /jars/:id/run`."""

    def __init__(self, url: str, start: JarStartSettings, logins: Logins | None = None) -> None:
        self._http = FlinkHttp(url, "Flink REST", read_limit_s=start.timeout.total_seconds(), logins=logins)
        self._jar_id = start.jar_id
        self._args = start.args
        self._body: dict[str, object] = {
            "entryClass": start.entry_class,
            "parallelism": start.parallelism,
            "flinkConfiguration": start.properties,
        }

    def close(self) -> None:
        self._http.close()

    def obstacle(self) -> str | None:
        """A JobManager that was started anew has lost the jars that were uploaded to it. Raises CouldNotLook."""
        known = self._http.page(_Jars, "/jars") or _Jars()
        return None if any(jar.id == self._jar_id for jar in known.files) else f"the cluster has no jar {self._jar_id}"

    def declaration(self) -> str:
        return digest_of({**self._body, "jar": self._jar_id, "args": self._args})

    def submit(self, path: str, job_id: JobId) -> None:
        asked = {
            **self._body,
            "programArgsList": list(self._args),
            "jobId": job_id,
            "savepointPath": path,
            "allowNonRestoredState": False,
            "claimMode": NO_CLAIM,
        }
        body = {key: value for key, value in asked.items() if value is not None}
        doing = f"the start of run {short_job(job_id)}"
        answer = self._http.send("POST", f"/jars/{self._jar_id}/run", body, doing)
        if not answer.is_success and not is_started(answer):
            raise self._http.not_taken(doing, answer)


def is_started(answer: httpx.Response) -> bool:
    """Whether this refusal says that the run exists."""
    said = trace_of(answer.content)
    return any(word in said for word in DUPLICATE)


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

    def __init__(self, start: SqlGatewayStartSettings, logins: Logins | None = None, *, poll_s: float = 0.1) -> None:
        self._limit_s = start.timeout.total_seconds()
        self._http = FlinkHttp(start.url, "The SQL gateway", read_limit_s=self._limit_s, logins=logins)
        self._statements = start.statements
        self._properties = start.properties
        self._poll_s = poll_s

    def close(self) -> None:
        self._http.close()

    def obstacle(self) -> str | None:
        """Only that the gateway answers: what Flink thinks of the statements is known when they are run, and none of
        them is run before a proposal is approved. Raises CouldNotLook."""
        return None if self._http.get("/v1/info") is not None else f"{self._http.url} is no SQL gateway"

    def declaration(self) -> str:
        return digest_of({"statements": self._statements, "properties": self._properties})

    def submit(self, path: str, job_id: JobId) -> None:
        """One session, closed again. Raises CommitRefused and CouldNotLook (surely not submitted), OutcomeUnknown."""
        pinned = {
            RECOVERY_PATH: path,
            CLAIM_MODE: NO_CLAIM,
            JOB_ID: job_id,
            IGNORE_UNCLAIMED: "false",
            "table.dml-sync": "false",
        }
        try:
            opened = self._send("/v1/sessions", {"properties": {**self._properties, **pinned}}, _Session)
        except (CouldNotLook, OutcomeUnknown) as error:
            raise _nothing_submitted(error, "no session was opened") from error
        session = f"/v1/sessions/{opened.handle}"
        doing = f"the start of run {short_job(job_id)}"
        try:
            for number, statement in enumerate(self._statements, start=1):
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
        if not is_started(answer):
            if ended == "ERROR":
                raise self._http.said_no(doing, answer)
            raise self._http.unknown(doing, f"HTTP {answer.status_code}: {reason(answer.content)}")

    def _await(self, operation: str, statement: str) -> str:
        """Until the statement has ended, well or badly: its result then says which. Returns its status; `LOST` where
        the gateway does not know it any more."""

        def ended() -> str | None:
            told = self._http.page(_Status, f"{operation}/status")
            status = "LOST" if told is None else told.status
            return status if status in {"FINISHED", "ERROR", "CANCELED", "LOST"} else None

        status = polled(ended, self._limit_s, self._poll_s)
        if status is not None:
            return status
        raise OutcomeUnknown(
            f"The statement {_shown(statement)} has not ended.",
            f"Expected it to end within {self._limit_s:g} s; it still runs on the gateway at {self._http.url}.",
            "Look at Flink's list of jobs before you start anything again.",
        )

    def _send(self, path: str, body: dict[str, object], kind: type[B]) -> B:
        answer = self._http.send("POST", path, body, "a statement")
        if not answer.is_success:
            raise self._http.not_taken(f"POST {path.rsplit('/', 1)[-1]}", answer)
        return self._http.parsed(kind, answer.content, f"POST {path}")

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
        "Fix the cause, then execute again. Nothing was submitted.",
    )


def _shown(statement: str) -> str:
    first = " ".join(statement.split())
    return repr(first if len(first) <= 60 else first[:59] + "…")
