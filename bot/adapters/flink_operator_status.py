"""How far the operator has come with a FlinkDeployment or FlinkSessionJob, as it writes into `status`; pure.

Only fields are read that the operator has written since 1.8 (`savepointRedeployNonce`).
"""

import json

from pydantic import BaseModel, Field

_OF_OTHERS = frozenset({"MANUAL", "PERIODIC"})
"""What triggered a savepoint after which the run went on."""


class _Savepoint(BaseModel):
    location: str | None = None
    by: str | None = Field(default=None, alias="triggerType")


class _SavepointInfo(BaseModel):
    last: _Savepoint | None = Field(default=None, alias="lastSavepoint")


class JobStatus(BaseModel):
    """`jobStatus`: the run that the operator saw last, and what it is restored from next."""

    job_id: str | None = Field(default=None, alias="jobId")
    name: str | None = Field(default=None, alias="jobName")
    state: str | None = None
    started: str | None = Field(default=None, alias="startTime")
    restored_from: str | None = Field(default=None, alias="upgradeSavepointPath")
    """Since 1.10."""
    savepoints: _SavepointInfo | None = Field(default=None, alias="savepointInfo")

    def left_since(self, before: "JobStatus") -> str | None:
        """What a stop has left since `before`: in `upgradeSavepointPath`, where there is none in `savepointInfo`, which
        operators 1.8 and 1.9 write alone. A savepoint that others took is none of the stop."""
        if self.restored_from is not None:
            return self.restored_from if self.restored_from != before.restored_from else None
        last = self.savepoints.last if self.savepoints is not None else None
        earlier = before.savepoints.last if before.savepoints is not None else None
        if last is None or last.by in _OF_OTHERS:
            return None
        return last.location if earlier is None or last.location != earlier.location else None


class _Reconciled(BaseModel):
    spec: str | None = Field(default=None, alias="lastReconciledSpec")


class Status(BaseModel):
    """The operator's word."""

    generation: int = Field(default=0, alias="observedGeneration")
    lifecycle: str | None = Field(default=None, alias="lifecycleState")
    error: str | None = None
    job: JobStatus = Field(default=JobStatus(), alias="jobStatus")
    reconciled: _Reconciled = Field(default=_Reconciled(), alias="reconciliationStatus")

    @property
    def deployed(self) -> dict[str, object]:
        """`job` of the spec that the operator has carried out; empty where it tells none.

        It writes the spec beside `resource_metadata` (`SpecUtils.writeSpecWithMeta`), and long ago wrote it bare.
        """
        try:
            told = json.loads(self.reconciled.spec or "{}")
            job = (told.get("spec") or told).get("job")
        except (ValueError, AttributeError):
            return {}
        return job if isinstance(job, dict) else {}

    @property
    def trouble(self) -> str:
        """The operator's own words of what went wrong, at most 400 characters; empty if it says nothing."""
        if not self.error:
            return ""
        try:
            told = json.loads(self.error)
            said = str(told.get("message") or told.get("type") or self.error)
        except (ValueError, AttributeError):
            said = self.error
        return " ".join(said.split())[:400]
