"""A FlinkDeployment or FlinkSessionJob as the operator keeps it, and the changes that we ask of it; pure.

`flinkConfiguration` as the operator reads it, whichever way people have written it, and what it says; pure.

Who has written a resource, as Kubernetes remembers it in `managedFields`; pure.

How far the operator has come with a FlinkDeployment or FlinkSessionJob, as it writes into `status`; pure.

Only fields are read that the operator has written since 1.8 (`savepointRedeployNonce`).

One custom resource on the Kubernetes API server: read it, and change it only as it was read.
"""

import base64
import binascii
import json
import os
import re
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import httpx
import stamina
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, PrivateAttr, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from bot.adapters.flink_http import LATER, NOT_SENT
from bot.adapters.flink_starting import CLAIM_MODE
from bot.domain.errors import BadConfiguration, CommitRefused, CouldNotLook, NotThere, OutcomeUnknown
from bot.domain.flink import JobRun
from bot.domain.ids import JobId
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
    """Whether it is set to true."""
    return str(settings.get(key)).lower() == "true"


def has_folder(settings: Mapping[str, object]) -> bool:
    """Whether there is a place for savepoints."""
    return any(each in settings for each in _SAVEPOINT_DIRS)


def claim_in(settings: Mapping[str, object]) -> str | None:
    """The setting by which a run takes its restore point over: Flink deletes it with the run. None: it does not."""
    return next((each for each in _CLAIM_MODES if str(settings.get(each, "")).upper() == "CLAIM"), None)


def why_taken(settings: Mapping[str, object]) -> str | None:
    """Why the operator may take a savepoint of a running job although `last-state` is asked for; None: it takes none.

    By its own rules it does so without high availability, and once the newest checkpoint is older than a bound.
    """
    if not any(str(settings.get(key, "NONE")).upper() != "NONE" for key in _HIGH_AVAILABILITY):
        return f"no `{_HIGH_AVAILABILITY[0]}` in its flinkConfiguration, without which a savepoint is taken"
    if _CHECKPOINT_AGE in settings:
        return f"`{_CHECKPOINT_AGE}` in its flinkConfiguration, by which a savepoint may be taken"
    return None


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


US = "waterline"
"""Under this name Kubernetes remembers which fields are ours."""


class Writer(BaseModel):
    manager: str = "somebody"
    time: datetime | None = None
    subresource: str | None = None


def newest_of(writers: Collection[Writer]) -> str:
    """Who changed it last, and when; the operator's status does not count."""
    people = {each.time: each.manager for each in writers if each.subresource is None and each.time}
    newest = max(people, default=None)
    return "somebody" if newest is None else f"{people[newest]} at {newest:%H:%M:%S} UTC"


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
    """Those of the FlinkStateSnapshots (since operator 1.10) that are complete and of `job`: `FlinkDeployment orders`.
    Raises CouldNotLook."""
    try:
        listed = _StateSnapshots.model_validate_json(body).items
    except ValidationError as error:
        raise CouldNotLook(
            "The FlinkStateSnapshots cannot be understood.",
            f"Expected a list of them; found {len(error.errors())} fields that are none.",
            "Check that the operator is of version 1.10 or later.",
        ) from error
    mine = [
        each
        for each in listed
        if each.spec.savepoint is not None and job == f"{each.spec.job.kind} {each.spec.job.name}"
    ]
    return tuple(
        NamedSavepoint(path=each.status.path, at=each.status.at)
        for each in mine
        if each.status.state == "COMPLETED" and each.status.path and each.status.at is not None
    )


class _Metadata(BaseModel):
    uid: str
    generation: int
    version: str = Field(alias="resourceVersion")
    writers: tuple[Writer, ...] = Field(default=(), alias="managedFields")
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
        return newest_of(self.metadata.writers)

    @property
    def leaves_savepoint(self) -> bool:
        """Whether a stop takes a savepoint: the job runs and has a place for one."""
        runs = self.status.job.state == "RUNNING"
        return runs and (self.job.mode == "savepoint" or has_folder(self.settings))

    @property
    def why_savepoint(self) -> str | None:
        """Why the operator may take a savepoint although `last-state` is asked for; None where it takes none."""
        return why_taken(self.settings) if self.status.job.state == "RUNNING" else None

    @property
    def claims(self) -> str | None:
        """The setting by which a run takes its restore point over: Flink deletes it with the run. None: it does not."""
        return claim_in(self.settings)

    def ended(self, job_id: JobId) -> JobRun:
        told = self.status.job
        return JobRun(
            job_id=job_id,
            name=told.name or "",
            state=told.state or "FINISHED",
            started_at=datetime.fromtimestamp(int(told.started or 0) / 1000, tz=UTC),
            ended_at=None,
            checkpoint_interval_ms=None,
            checkpoints=(),
            completed_count=0,
            failed_count=0,
            restored_count=0,
            restored=None,
            failures=(),
            vertices=(),
            code_version=None,
        )

    def to_suspend(self, *, keeps_checkpoints: bool) -> dict[str, object]:
        """The change that stops the job: with a savepoint where it leaves one, else, and where its checkpoints are to
        stay, keeping what the newest one is known by. Never stateless: whoever resumes it would start from nothing."""
        mode = "savepoint" if self.leaves_savepoint and not keeps_checkpoints else "last-state"
        return self._changed({"state": "suspended", "upgradeMode": mode})

    def to_restore(self, path: str, nonce: int, *, allow_non_restored: bool) -> dict[str, object]:
        """The change that starts the job from `path`, whatever the operator would have restored by itself. The upgrade
        mode stays as it is: after a stop of ours it is never `stateless`."""
        job: dict[str, object] = {
            "state": "running",
            "initialSavepointPath": path,
            "savepointRedeployNonce": nonce,
            "allowNonRestoredState": allow_non_restored,
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
        first = error.errors(include_url=False)[0]
        raise CouldNotLook(
            f"{name} cannot be read.",
            f"Expected the format of the Flink Kubernetes operator; found at {'.'.join(map(str, first['loc']))}: "
            f"{first['msg']}.",
            "Check kind and version of the operator.",
        ) from error


def nonce_of(job_id: JobId) -> int:
    """The redeploy nonce of one start: the same at each try, so that the operator deploys once.

    52 bits of the id, which every reader of JSON keeps exactly; never 0.
    """
    return int(job_id[:13], 16) + 1


_BEFORE_IT_EXPIRES = timedelta(minutes=1)
_WITHOUT_AN_END = timedelta(minutes=5)
"""So long a token is used whose program does not say when it expires: a look makes several requests."""
POD = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes puts a pod's token and the API server's certificate."""


@dataclass(frozen=True)
class Login:
    """Where the API server is, whom to trust, and who we are."""

    server: str
    trust: ssl.SSLContext
    token: Callable[[], str | None]
    """Asked at each request: a pod's token is replaced every hour. None: the certificate in `trust` says who we are."""


def as_pod(folder: Path = POD, environment: Mapping[str, str] = os.environ) -> Login:
    """The service account of the pod that we run in. Raises BadConfiguration outside of a pod."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (folder / "token").exists():
        raise BadConfiguration(
            "The Kubernetes API server cannot be found.",
            f"Expected to run in a pod with a service account ({folder}); found none.",
            "Run Waterline in the cluster, or name a `kubeconfig` in the job's `start`.",
        )
    where = f"[{host}]" if ":" in host else host
    trust = _trusting("the pod's ca.crt", lambda: ssl.create_default_context(cafile=str(folder / "ca.crt")))
    return Login(f"https://{where}:{port}", trust, lambda: (folder / "token").read_text(encoding="utf-8").strip())


class _Cluster(BaseModel):
    server: str
    authority: Path | None = Field(default=None, alias="certificate-authority")
    authority_data: str | None = Field(default=None, alias="certificate-authority-data")


class _Variable(BaseModel):
    name: str
    value: str


class _Program(BaseModel):
    """Fetches a token, as the clients of EKS, GKE and AKS do (client.authentication.k8s.io)."""

    command: str
    args: tuple[str, ...] | None = None
    env: tuple[_Variable, ...] | None = None
    version: str = Field(default="client.authentication.k8s.io/v1", alias="apiVersion")


class _Credential(BaseModel):
    token: str
    expires: AwareDatetime | None = Field(default=None, alias="expirationTimestamp")


class _Fetched(BaseModel):
    status: _Credential


class _User(BaseModel):
    token: str | None = None
    token_file: Path | None = Field(default=None, alias="tokenFile")
    certificate: Path | None = Field(default=None, alias="client-certificate")
    certificate_data: str | None = Field(default=None, alias="client-certificate-data")
    key: Path | None = Field(default=None, alias="client-key")
    key_data: str | None = Field(default=None, alias="client-key-data")
    program: _Program | None = Field(default=None, alias="exec")

    @property
    def is_known(self) -> bool:
        """Whether it says who it is in a way that we understand."""
        return any((self.token, self.token_file, self.certificate, self.certificate_data, self.program))


class _Context(BaseModel):
    cluster: str
    user: str


class _NamedCluster(BaseModel):
    name: str
    cluster: _Cluster


class _NamedUser(BaseModel):
    name: str
    user: _User


class _NamedContext(BaseModel):
    name: str
    context: _Context


class _Config(BaseModel):
    current: str = Field(default="", alias="current-context")
    clusters: tuple[_NamedCluster, ...]
    users: tuple[_NamedUser, ...]
    contexts: tuple[_NamedContext, ...]


def by_kubeconfig(path: Path, context: str | None = None) -> Login:
    """One context of the file; its current one if none is named. Raises BadConfiguration."""
    config = _read(path)
    wanted = context or config.current
    chosen = {each.name: each.context for each in config.contexts}.get(wanted)
    if chosen is None:
        raise _bad(path, f"a context {wanted!r}", f"only {', '.join(each.name for each in config.contexts) or 'none'}")
    cluster = {each.name: each.cluster for each in config.clusters}.get(chosen.cluster)
    user = {each.name: each.user for each in config.users}.get(chosen.user)
    if cluster is None or user is None:
        raise _bad(path, f"the cluster {chosen.cluster} and the user {chosen.user} of {wanted}", "one of them missing")
    if not user.is_known:
        raise _bad(path, f"a token, a certificate or a program (`exec`) of the user {chosen.user}", "neither")
    return Login(
        cluster.server.rstrip("/"), _trusting(str(path), lambda: _trust(path, cluster, user)), _token(path, user)
    )


def _read(path: Path) -> _Config:
    try:
        return _Config.model_validate(YAML(typ="safe").load(path.read_text(encoding="utf-8")))
    except (OSError, YAMLError, ValidationError) as error:
        raise _bad(path, "clusters, users and contexts", type(error).__name__) from error


def _token(path: Path, user: _User) -> Callable[[], str | None]:
    """Paths are relative to the kubeconfig's folder, as for kubectl. Raises OSError, ValueError, SubprocessError."""
    if user.token_file is not None:
        file = path.parent / user.token_file
        return lambda: file.read_text(encoding="utf-8").strip()
    if user.program is not None:
        return _Fetches(path.parent, user.program)
    return lambda: user.token


class _Fetches:
    """The token that a program fetches, run anew when the last token is about to expire."""

    def __init__(self, folder: Path, program: _Program) -> None:
        command = str(folder / program.command) if "/" in program.command else program.command
        self._command = [command, *(program.args or ())]
        told = {"apiVersion": program.version, "kind": "ExecCredential", "spec": {"interactive": False}}
        self._environment = {each.name: each.value for each in program.env or ()}
        self._environment["KUBERNETES_EXEC_INFO"] = json.dumps(told)
        self._token = ""
        self._ends: datetime | None = None

    def __call__(self) -> str:
        now = datetime.now(UTC)
        if self._ends is None or self._ends - _BEFORE_IT_EXPIRES < now:
            environment = {**os.environ, **self._environment}
            done = subprocess.run(
                self._command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=30
            )
            fetched = _Fetched.model_validate_json(done.stdout).status
            self._token, self._ends = fetched.token, fetched.expires or now + _WITHOUT_AN_END
        return self._token


def _trust(path: Path, cluster: _Cluster, user: _User) -> ssl.SSLContext:
    told = _decoded(cluster.authority_data)
    file = None if cluster.authority is None else str(path.parent / cluster.authority)
    trust = ssl.create_default_context(cafile=file, cadata=None if told is None else told.decode("ascii"))
    certificate, key = _decoded(user.certificate_data), _decoded(user.key_data)
    with tempfile.TemporaryDirectory(prefix="waterline-") as folder:  # the ssl module takes a chain from files only
        for name, content in (("certificate", certificate), ("key", key)):
            if content is not None:
                (Path(folder) / name).write_bytes(content)
        chain = Path(folder) / "certificate" if certificate is not None else user.certificate
        private = Path(folder) / "key" if key is not None else user.key
        if chain is not None:
            trust.load_cert_chain(path.parent / chain, None if private is None else path.parent / private)
    return trust


def _decoded(told: str | None) -> bytes | None:
    return None if told is None else base64.b64decode(told, validate=True)


def _trusting(where: str, made: Callable[[], ssl.SSLContext]) -> ssl.SSLContext:
    try:
        return made()
    except (OSError, binascii.Error, UnicodeDecodeError) as error:
        raise BadConfiguration(
            "The certificate of the Kubernetes API server or of Waterline cannot be used.",
            f"Expected certificates in PEM form in {where}; found {type(error).__name__}: {error}.",
            "Replace that file.",
        ) from error


def _bad(path: Path, expected: str, found: str) -> BadConfiguration:
    return BadConfiguration(
        f"The kubeconfig {path} cannot be used.",
        f"Expected {expected}; found {found}.",
        "Name a kubeconfig of a service account with the rights of deploy/kubernetes/flink-operator-rights.yaml.",
    )


_WHOLE_OBJECT = 'Invalid value: "{'


class _Status(BaseModel):
    message: str = ""


class _Again(Exception):
    """An answer that may be better in a moment; only within this module."""


class Conflict(Exception):
    """The resource is not as it was read any more; nothing was changed. For the caller to read it again."""


class KubernetesResource:
    """One object by its path. Reads are repeated; a change is sent once."""

    def __init__(self, login: Login, path: str, name: str, *, limit_s: float = 20.0) -> None:
        """`name` is how messages call it: `FlinkDeployment streaming/orders-to-iceberg`."""
        self._login = login
        self._path = path
        self.name = name
        self._http = httpx.Client(
            base_url=login.server, verify=login.trust, timeout=httpx.Timeout(limit_s, connect=5.0), trust_env=False
        )

    def close(self) -> None:
        self._http.close()

    def beside(self, kind: str, name: str) -> "KubernetesResource":
        """Another one of its namespace, or all of a kind (`name` empty), over the same connections: close this one
        alone."""
        other = copy(self)
        other._path = f"{self._path.rsplit('/', 2)[0]}/{kind.lower()}s/{quote(name, safe='')}".rstrip("/")
        other.name = f"{kind} {self.name.partition(' ')[2].partition('/')[0]}/{name or '*'}"
        return other

    def read(self) -> bytes:
        """The whole object. Tried up to three times. Raises CouldNotLook, also when there is none."""
        try:
            for attempt in stamina.retry_context(
                on=(httpx.TransportError, _Again), attempts=3, wait_initial=0.2, wait_max=2.0, timeout=20
            ):
                with attempt:
                    answer = self._http.get(self._path, headers=self._headers())
                    if answer.status_code >= 500 or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
                        raise _Again(f"HTTP {answer.status_code}")
        except (httpx.HTTPError, OSError, _Again) as error:
            raise self._unreachable(error) from error
        if not answer.is_success:
            raise self._refused("read", answer)
        return answer.content

    def change(self, body: Mapping[str, object], doing: str) -> bytes:
        """Send one merge patch, once; the object after it. `body` names the resource version that was read, so that
        the API server refuses it if anything changed since, and a field that it does not know refuses the whole.

        Raises Conflict, CommitRefused and CouldNotLook (surely not changed), OutcomeUnknown.
        """
        headers = {**self._headers(), "content-type": "application/merge-patch+json"}
        asked = {"fieldManager": US, "fieldValidation": "Strict"}
        try:
            answer = self._http.patch(self._path, params=asked, content=json.dumps(body), headers=headers)
        except NOT_SENT as error:
            raise self._unreachable(error) from error
        except httpx.TransportError as error:
            raise self._unknown(doing, f"{type(error).__name__} {error}".strip()) from error
        if answer.status_code == httpx.codes.CONFLICT:
            raise Conflict
        if answer.status_code >= 500:
            raise self._unknown(doing, f"HTTP {answer.status_code}: {_reason(answer.content)}")
        if not answer.is_success:
            told = self._refused("change", answer)
            raise told if answer.status_code in LATER else CommitRefused(told.happened, told.found, told.remedy)
        return answer.content

    def _headers(self) -> dict[str, str]:
        try:
            token = self._login.token()
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise CouldNotLook(
                f"The Kubernetes API server at {self._login.server} was not asked.",
                f"Expected the token of Waterline's user; found {type(error).__name__}: {_without_body(error)}",
                "Check the token's file or the program that the kubeconfig names.",
            ) from error
        return {"accept": "application/json", **({} if token is None else {"authorization": f"Bearer {token}"})}

    def _unreachable(self, error: Exception) -> CouldNotLook:
        return CouldNotLook(
            f"The Kubernetes API server at {self._login.server} did not answer.",
            f"Expected {self.name}; found {type(error).__name__}: {error}.",
            "Check that it can be reached from here, then try again.",
        )

    def _refused(self, what: str, answer: httpx.Response) -> CouldNotLook:
        """NotThere where there is none, or nothing of its kind."""
        remedies = {
            401: "Give Waterline's service account a valid token.",
            403: "Give Waterline's service account the rights of deploy/kubernetes/flink-operator-rights.yaml.",
            404: "Check kind, namespace and name in the job's `start`, and that the operator is installed.",
        }
        kind = NotThere if answer.status_code == httpx.codes.NOT_FOUND else CouldNotLook
        return kind(
            f"The Kubernetes API server refused to {what} {self.name}.",
            f"Expected success; found HTTP {answer.status_code}: {_reason(answer.content)}.",
            remedies.get(answer.status_code, "Read its reason. Nothing was changed."),
        )

    def _unknown(self, doing: str, found: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"It is not known whether {doing} was requested.",
            f"Expected the Kubernetes API server at {self._login.server} to accept or refuse it; found {found}.",
            f"Look at {self.name}. Do not repeat it before that.",
        )


def _without_body(error: Exception) -> str:
    """What went wrong, never what a program printed: that may hold a token."""
    if isinstance(error, ValidationError):
        return "it printed no ExecCredential with a token."
    return f"{error}."


def _reason(body: bytes) -> str:
    """In its own words, without the object that it quotes: its settings may hold secrets."""
    try:
        said = _Status.model_validate_json(body).message
    except ValidationError:
        said = body.decode("utf-8", "replace")
    if _WHOLE_OBJECT in said:
        said = said.rpartition('": ')[2]
    return " ".join(said.split())[:400].rstrip(".") or "no reason given"


def flink_resource(login: Login, kind: str, namespace: str, name: str) -> KubernetesResource:
    path = f"/apis/flink.apache.org/v1beta1/namespaces/{namespace}/{kind.lower()}s/{name}"
    return KubernetesResource(login, path, f"{kind} {namespace}/{name}")
