"""A FlinkDeployment or FlinkSessionJob as the operator keeps it, and the changes that we ask of it; pure.

Only fields are read that the operator has written since 1.10 (`upgradeSavepointPath`).
"""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, PrivateAttr, ValidationError

from bot.adapters.flink_starting import CLAIM_MODE
from bot.observation.errors import CouldNotLook, first_problem
from bot.observation.flink import JobRun
from bot.observation.ids import JobId
from bot.ports import NamedSavepoint

DRAIN = "kubernetes.operator.job.drain-on-savepoint-deletion"
RESTART_FAILED = "kubernetes.operator.job.restart.failed"
SAVEPOINT_DIR = "execution.checkpointing.savepoint-dir"
_SAVEPOINT_DIRS = (SAVEPOINT_DIR, "state.savepoints.dir")
_HIGH_AVAILABILITY = ("high-availability.type", "high-availability")
_CHECKPOINT_AGE = "kubernetes.operator.job.upgrade.last-state.max.allowed.checkpoint.age"
_CLAIM_MODES = (CLAIM_MODE, "execution.savepoint-restore-mode")


def flattened(told: object) -> object:
    """One setting a key, `a.b.c`, also where it is written as nested YAML, which operators since 1.13 take
    (`ConfigObjectNode.asFlatMap`). What is flat stays as it is. What is no mapping is left to whoever checks it."""
    return dict(_flat(told, "")) if isinstance(told, Mapping) else told


def is_on(settings: Mapping[str, object], key: str) -> bool:
    return str(settings.get(key)).lower() == "true"


def _flat(told: Mapping[str, object], under: str) -> list[tuple[str, object]]:
    settings: list[tuple[str, object]] = []
    for name, value in told.items():
        key = f"{under}.{name}" if under else name
        if isinstance(value, Mapping):
            settings += _flat(value, key)
        elif not isinstance(value, list):
            settings.append((key, value))
        elif value:
            settings.append((key, ";".join(map(_item, value))))
    return settings


def _item(value: object) -> str:
    """Of a list. The operator drops what is nested in one."""
    if isinstance(value, Mapping | list):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Writer(BaseModel):
    manager: str = "somebody"
    time: datetime | None = None
    subresource: str | None = None


_LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
"""In place of a path: what high availability knows of the newest checkpoint."""
RETAINED = re.compile(r".*/chk-\d+/?")
"""Path of a retained checkpoint, in place of a savepoint's: a suspension by last state may cancel the run."""


class JobStatus(BaseModel):
    """`jobStatus`: the run that the operator saw last, and what it is restored from next."""

    job_id: str | None = Field(default=None, alias="jobId")
    name: str | None = Field(default=None, alias="jobName")
    state: str | None = None
    started: str | None = Field(default=None, alias="startTime")
    restored_from: str | None = Field(default=None, alias="upgradeSavepointPath")

    def left_since(self, before: "JobStatus") -> str | None:
        """Path of what a stop has left since `before`; None where nothing new is told."""
        return None if self.restored_from in {before.restored_from, _LAST_STATE} else self.restored_from


class _Reconciled(BaseModel):
    spec: str | None = Field(default=None, alias="lastReconciledSpec")


class Status(BaseModel):
    generation: int = Field(default=0, alias="observedGeneration")
    lifecycle: str | None = Field(default=None, alias="lifecycleState")
    error: str | None = None
    job: JobStatus = Field(default=JobStatus(), alias="jobStatus")
    reconciled: _Reconciled = Field(default=_Reconciled(), alias="reconciliationStatus")

    @property
    def deployed(self) -> dict[str, object]:
        """`job` of the spec that the operator has carried out; empty where it tells none. It writes the spec beside
        `resource_metadata` (`SpecUtils.writeSpecWithMeta`)."""
        try:
            job = json.loads(self.reconciled.spec or "{}")["spec"]["job"]
        except (ValueError, LookupError, TypeError):
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


Kind = Literal["FlinkDeployment", "FlinkSessionJob"]
_ENDED = frozenset({"FINISHED", "CANCELED", "FAILED"})
_MOVING = frozenset({"UPGRADING", "ROLLING_BACK"})
"""Of `lifecycleState`: the job is deployed next, whatever became of its last run."""
_OURS = frozenset({"state", "upgradeMode", "initialSavepointPath", "savepointRedeployNonce", "allowNonRestoredState"})
"""Of `spec.job`: what `to_suspend` and `to_restore` change."""


class _Named(BaseModel):
    kind: str = "FlinkDeployment"
    name: str


class _SnapshotSpec(BaseModel):
    job: _Named = Field(alias="jobReference")
    savepoint: dict[str, object] | None = None
    """None: it is of a checkpoint, which Flink tells of."""


class _SnapshotStatus(BaseModel):
    state: str | None = None
    path: str | None = None
    at: AwareDatetime | None = Field(default=None, alias="resultTimestamp")


class _StateSnapshot(BaseModel):
    spec: _SnapshotSpec
    status: _SnapshotStatus = _SnapshotStatus()


class _StateSnapshots(BaseModel):
    items: tuple[_StateSnapshot, ...]


def savepoints_in(body: bytes, job: str) -> tuple[NamedSavepoint, ...]:
    """Those of the FlinkStateSnapshots that are complete and of `job`: `FlinkDeployment orders`.
    Raises CouldNotLook."""
    try:
        listed = _StateSnapshots.model_validate_json(body).items
    except ValidationError as error:
        raise CouldNotLook(
            "The FlinkStateSnapshots cannot be understood.",
            f"Expected a list of them; found {len(error.errors())} fields that are none.",
            "Check that the operator is of version 1.10 or later.",
        ) from error
    return tuple(
        NamedSavepoint(path=status.path, at=status.at)
        for spec, status in ((each.spec, each.status) for each in listed)
        if spec.savepoint is not None and job == f"{spec.job.kind} {spec.job.name}"
        if status.state == "COMPLETED" and status.path and status.at is not None
    )


class _Metadata(BaseModel):
    uid: str
    generation: int
    version: str = Field(alias="resourceVersion")
    writers: tuple[_Writer, ...] = Field(default=(), alias="managedFields")
    owners: tuple[_Named, ...] = Field(default=(), alias="ownerReferences")


class _Job(BaseModel, extra="allow"):
    state: str = "running"
    mode: str = Field(default="stateless", alias="upgradeMode")
    nonce: int | None = Field(default=None, alias="savepointRedeployNonce")


class _Spec(BaseModel, extra="allow"):
    job: _Job | None = None
    settings: Annotated[dict[str, object] | None, BeforeValidator(flattened)] = Field(
        default=None, alias="flinkConfiguration"
    )


class FlinkResource(BaseModel):
    """What people asked for (`spec`) and how far the operator has come (`status`)."""

    metadata: _Metadata
    spec: _Spec
    status: Status = Status()
    _inherited: dict[str, object] | CouldNotLook = PrivateAttr(default_factory=dict)

    @property
    def session_cluster(self) -> str | None:
        """The FlinkDeployment on which a FlinkSessionJob runs, in its namespace; None for a FlinkDeployment."""
        name = (self.spec.model_extra or {}).get("deploymentName")
        return None if name is None else str(name)

    def over(self, inherited: dict[str, object] | CouldNotLook) -> "FlinkResource":
        """The same on a session cluster with these settings, or with some that could not be seen."""
        made = self.model_copy()
        made._inherited = inherited
        return made

    @property
    def settings(self) -> dict[str, object]:
        """What the operator goes by: its own settings over those of its session cluster, as the operator merges them
        (`FlinkConfigManager.getSessionJobConfig`). Raises CouldNotLook where these could not be seen."""
        if isinstance(self._inherited, CouldNotLook):
            raise self._inherited
        return {**self._inherited, **(self.spec.settings or {})}

    def place_of(self, key: str) -> str:
        """Where that setting stands, for people who look for it."""
        is_own = self.session_cluster is None or key in (self.spec.settings or {})
        return (
            "its flinkConfiguration" if is_own else f"the flinkConfiguration of FlinkDeployment {self.session_cluster}"
        )

    @property
    def job(self) -> _Job:
        """Its job. Raises CouldNotLook for a session cluster, which has none."""
        if self.spec.job is None:
            raise CouldNotLook(
                "The resource runs no job.",
                "Expected a `spec.job`; found a session cluster.",
                "Name the FlinkSessionJob in the job's `start` instead.",
            )
        return self.spec.job

    @property
    def declared(self) -> dict[str, object]:
        """The whole spec (image, jar, arguments, settings, …) without the fields that stops and starts of ours change.
        Raises CouldNotLook for a session cluster."""
        job = {name: told for name, told in self.job.model_dump(by_alias=True).items() if name not in _OURS}
        return {**self.spec.model_dump(by_alias=True, exclude={"job"}), "job": job}

    @property
    def blue_green(self) -> str | None:
        """The FlinkBlueGreenDeployment that made it and writes its spec anew whenever it likes; None: nobody does."""
        return next((each.name for each in self.metadata.owners if each.kind == "FlinkBlueGreenDeployment"), None)

    @property
    def is_reconciled(self) -> bool:
        """Whether the operator has seen the newest spec."""
        return self.status.generation >= self.metadata.generation

    @property
    def is_suspended(self) -> bool:
        """Whether it is asked to be suspended, and the operator says that it is."""
        return self.job.state == "suspended" and self.is_reconciled and self.status.lifecycle == "SUSPENDED"

    @property
    def has_ended(self) -> bool:
        """Whether the run that the operator saw last is over; another one may come."""
        return self.status.job.state in _ENDED

    @property
    def is_at_rest(self) -> bool:
        """Whether, by the operator's word, nothing runs and nothing is about to."""
        is_moving = self.status.lifecycle in _MOVING or not self.is_reconciled or self._is_restarted
        return self.is_suspended or (self.has_ended and not is_moving)

    @property
    def why_started(self) -> str | None:
        """Why the operator may start the job at any time though nobody asks for it now, a clause; None where nothing is
        known of that."""
        if self.job.state == "suspended":
            return None
        if self.status.lifecycle in _MOVING:
            return f"it is {self.status.lifecycle}"
        if not self.is_reconciled:
            return "its newest spec is not reconciled yet"
        if self._is_restarted:
            return (
                f"`{RESTART_FAILED}: true` in {self.place_of(RESTART_FAILED)}, by which a failed job is started again"
            )
        return None

    @property
    def _is_restarted(self) -> bool:
        has_failed = self.status.job.state == "FAILED" and self.job.state != "suspended"
        return has_failed and is_on(self.settings, RESTART_FAILED)

    @property
    def deployed_nonce(self) -> int | None:
        """The redeploy nonce of the spec that the operator has carried out."""
        try:
            return _Job.model_validate(self.status.deployed).nonce
        except ValidationError:
            return None

    @property
    def is_start_open(self) -> bool:
        """Whether it is asked to be deployed by a redeploy nonce that the operator has not carried out."""
        return self.job.state != "suspended" and self.job.nonce is not None and self.deployed_nonce != self.job.nonce

    @property
    def last_writer(self) -> str:
        """Who changed it last, as Kubernetes remembers; the operator's status does not count."""
        people = {each.time: each.manager for each in self.metadata.writers if each.subresource is None and each.time}
        newest = max(people, default=None)
        return "somebody" if newest is None else f"{people[newest]} at {newest:%H:%M:%S} UTC"

    @property
    def leaves_savepoint(self) -> bool:
        """Whether a stop takes a savepoint: the job runs and has a place for one."""
        runs = self.status.job.state == "RUNNING"
        return runs and (self.job.mode == "savepoint" or any(each in self.settings for each in _SAVEPOINT_DIRS))

    @property
    def why_savepoint(self) -> str | None:
        """Why the operator may take a savepoint although `last-state` is asked for; None where it takes none. By its
        own rules it does so without high availability, and once the newest checkpoint is older than a bound."""
        if self.status.job.state != "RUNNING":
            return None
        settings = self.settings
        if not any(str(settings.get(key, "NONE")).upper() != "NONE" for key in _HIGH_AVAILABILITY):
            return f"no `{_HIGH_AVAILABILITY[0]}` in its flinkConfiguration, without which a savepoint is taken"
        if _CHECKPOINT_AGE in settings:
            return f"`{_CHECKPOINT_AGE}` in its flinkConfiguration, by which a savepoint may be taken"
        return None

    @property
    def claims(self) -> str | None:
        """The setting by which a run takes its restore point over: Flink deletes it with the run. None: it does not."""
        settings = self.settings
        return next((each for each in _CLAIM_MODES if str(settings.get(each, "")).upper() == "CLAIM"), None)

    def ended(self, job_id: JobId) -> JobRun:
        told = self.status.job
        return JobRun(
            job_id=job_id,
            name=told.name or "",
            state=told.state or "FINISHED",
            started_at=datetime.fromtimestamp(int(told.started or 0) / 1000, tz=UTC),
        )

    def to_suspend(self, *, keeps_checkpoints: bool) -> dict[str, object]:
        """The change that stops the job: with a savepoint where it leaves one, else, and where its checkpoints are to
        stay, keeping what the newest one is known by. Never stateless: whoever resumes it would start from nothing."""
        mode = "savepoint" if self.leaves_savepoint and not keeps_checkpoints else "last-state"
        return self._changed({"state": "suspended", "upgradeMode": mode})

    def to_restore(self, path: str, nonce: int) -> dict[str, object]:
        """The change that starts the job from `path`, whatever the operator would have restored by itself. The upgrade
        mode stays as it is: after a stop of ours it is never `stateless`."""
        job: dict[str, object] = {
            "state": "running",
            "initialSavepointPath": path,
            "savepointRedeployNonce": nonce,
            "allowNonRestoredState": False,
        }
        return self._changed(job)

    def _changed(self, job: dict[str, object]) -> dict[str, object]:
        held = {"uid": self.metadata.uid, "resourceVersion": self.metadata.version}
        return {"metadata": held, "spec": {"job": job}}


def resource_of(body: bytes, name: str) -> FlinkResource:
    """Raises CouldNotLook if it is not the operator's."""
    try:
        return FlinkResource.model_validate_json(body)
    except ValidationError as error:
        raise CouldNotLook(
            f"{name} cannot be read.",
            f"Expected the format of the Flink Kubernetes operator; found at {first_problem(error)}.",
            "Check kind and version of the operator.",
        ) from error


def nonce_of(job_id: JobId) -> int:
    """The redeploy nonce of one start: the same at each try, so that the operator deploys once.

    52 bits of the id, which every reader of JSON keeps exactly; never 0.
    """
    return int(job_id[:13], 16) + 1
