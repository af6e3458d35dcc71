"""Ways to submit a job from a restore point under an id that was chosen before: the port and the jar.

What a start submits as it is declared, told by a digest: it changes with whatever would be submitted.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Protocol

import httpx
from pydantic import BaseModel, ValidationError

from bot.adapters.flink_http import FlinkHttp, reason, trace_of, waited_in_vain
from bot.domain.ids import JobId, short_job


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
UID_SUFFIX = "{uid_suffix}"
"""Stands in statements or arguments for the suffix of the sink's uid."""
IGNORE_UNCLAIMED = "execution.state-recovery.ignore-unclaimed-state"
JOB_ID = "$internal.pipeline.job-id"
"""The setting that gives a run its id; without it the cluster chooses one."""


class Starter(Protocol):
    """One way to submit the job."""

    def submit(self, path: str, job_id: JobId, *, allow_non_restored: bool, uid_suffix: str | None) -> None:
        """Submit once, with this suffix for UID_SUFFIX (None: the configured one). Returns when the cluster accepted
        the run, or has it already.

        Raises CommitRefused and CouldNotLook (surely not submitted), OutcomeUnknown.
        """

    def obstacle(self) -> str | None:
        """What would keep it from being accepted, as a clause; None where nothing is known. Raises CouldNotLook."""

    def declaration(self) -> str:
        """The digest of what `submit` sends beside restore point, job id and another uid, as it is configured."""

    def close(self) -> None:
        """Give connections back."""


class _Jar(BaseModel):
    id: str


class _Jars(BaseModel):
    files: tuple[_Jar, ...] = ()


class JarStart:
    """Runs a jar that was uploaded to the cluster: `POST /jars/:id/run`."""

    def __init__(
        self,
        url: str,
        jar_id: str,
        *,
        entry_class: str | None = None,
        args: Sequence[str] = (),
        parallelism: int | None = None,
        properties: Mapping[str, str] | None = None,
        uid_suffix: str = "",
        limit_s: float = 90.0,
    ) -> None:
        self._http = FlinkHttp(url, "Flink REST", read_limit_s=limit_s)
        self._jar_id = jar_id
        self._args = tuple(args)
        self._uid_suffix = uid_suffix
        self._body: dict[str, object] = {
            "entryClass": entry_class,
            "parallelism": parallelism,
            "flinkConfiguration": dict(properties or {}),
        }

    def close(self) -> None:
        """Gives the connections back."""
        self._http.close()

    def obstacle(self) -> str | None:
        """A JobManager that was started anew has lost the jars that were uploaded to it. Raises CouldNotLook."""
        try:
            known = _Jars.model_validate_json(self._http.get("/jars") or b"{}")
        except ValidationError as error:
            raise self._http.garbled("GET /jars", error) from error
        return None if any(jar.id == self._jar_id for jar in known.files) else f"the cluster has no jar {self._jar_id}"

    def declaration(self) -> str:
        """See Starter. A jar that is uploaded anew has another id."""
        return digest_of({**self._body, "jar": self._jar_id, "args": self._args, "suffix": self._uid_suffix})

    def submit(self, path: str, job_id: JobId, *, allow_non_restored: bool, uid_suffix: str | None) -> None:
        """Sent once; without `allow_non_restored`, state that no operator takes is refused by Flink."""
        suffix = self._uid_suffix if uid_suffix is None else uid_suffix
        asked = {
            **self._body,
            "programArgsList": [each.replace(UID_SUFFIX, suffix) for each in self._args],
            "jobId": job_id,
            "savepointPath": path,
            "allowNonRestoredState": allow_non_restored,
            "claimMode": NO_CLAIM,
        }
        body = {key: value for key, value in asked.items() if value is not None}
        doing = f"the start of run {short_job(job_id)}"
        answer = self._http.send("POST", f"/jars/{self._jar_id}/run", body, doing)
        if not answer.is_success and not is_started(self._http, answer, doing):
            raise self._http.not_taken(doing, answer)


def is_started(http: FlinkHttp, answer: httpx.Response, doing: str) -> bool:
    """Whether this refusal says that the run exists. Raises OutcomeUnknown when the submission timed out inside
    Flink."""
    said = trace_of(answer.content)
    if any(word in said for word in DUPLICATE):
        return True
    if waited_in_vain(said):
        raise http.unknown(doing, f"HTTP {answer.status_code}: {reason(answer.content)}")
    return False
