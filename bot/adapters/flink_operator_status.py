"""How far the operator has come with a FlinkDeployment or FlinkSessionJob, as it writes into `status`; pure.

Only fields are read that the operator has written since 1.8 (`savepointRedeployNonce`).
"""

import json
import re

from pydantic import BaseModel, Field

_OF_OTHERS = frozenset({"MANUAL", "PERIODIC"})
"""What triggered a savepoint after which the run went on."""
_LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
"""In place of a path: what high availability knows of the newest checkpoint."""
_CHECKPOINT = re.compile(r".*/chk-\d+/?")


class _Savepoint(BaseModel):
    location: str | None = None
    by: str | None = Field(default=None, alias="triggerType")


class _SavepointInfo(BaseModel):
    last: _Savepoint | None = Field(default=None, alias="lastSavepoint")


class Left(BaseModel):
    """The point of state that a stop has left."""

    path: str

    @property
    def is_checkpoint(self) -> bool:
        """Whether it is the newest retained checkpoint: a suspension by last state may cancel the run."""
        return _CHECKPOINT.fullmatch(self.path) is not None


class JobStatus(BaseModel):
    """`jobStatus`: the run that the operator saw last, and what it is restored from next."""

    job_id: str | None = Field(default=None, alias="jobId")
    name: str | None = Field(default=None, alias="jobName")
    state: str | None = None
    started: str | None = Field(default=None, alias="startTime")
    restored_from: str | None = Field(default=None, alias="upgradeSavepointPath")
    """Since 1.10."""
    savepoints: _SavepointInfo | None = Field(default=None, alias="savepointInfo")

    def left_since(self, before: "JobStatus") -> Left | None:
        """What a stop has left since `before`: in `upgradeSavepointPath`, where there is none in `savepointInfo`, which
        operators 1.8 and 1.9 write alone. A savepoint that others took is none of the stop."""
        left, earlier = self.restored_from, before.restored_from
        if left is None:
            left, earlier = self._last_savepoint, before._last_savepoint
        return None if left in {None, earlier, _LAST_STATE} else Left(path=str(left))

    @property
    def _last_savepoint(self) -> str | None:
        last = self.savepoints.last if self.savepoints is not None else None
        return None if last is None or last.by in _OF_OTHERS else last.location


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
