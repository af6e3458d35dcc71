"""The Kubernetes API server: who we are there, and one custom resource, read and changed only as it was read."""

import base64
import binascii
import json
import os
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import httpx
from pydantic import AwareDatetime, BaseModel, BeforeValidator, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from bot.adapters.flink_http import LATER, NOT_SENT
from bot.adapters.http import Bounded, Busy, read_again
from bot.observation.errors import BadConfiguration, CommitRefused, CouldNotLook, NotThere, OutcomeUnknown

US = "waterline"
"""Under this name Kubernetes remembers which fields are ours."""


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


def _by_name(key: str) -> BeforeValidator:
    return BeforeValidator(lambda listed: {each["name"]: each[key] for each in listed})


class _Config(BaseModel):
    current: str = Field(default="", alias="current-context")
    clusters: Annotated[dict[str, _Cluster], _by_name("cluster")]
    users: Annotated[dict[str, _User], _by_name("user")]
    contexts: Annotated[dict[str, _Context], _by_name("context")]


def by_kubeconfig(path: Path, context: str | None = None) -> Login:
    """One context of the file; its current one if none is named. Raises BadConfiguration."""
    config = _read(path)
    wanted = context or config.current
    chosen = config.contexts.get(wanted)
    if chosen is None:
        raise _bad(path, f"a context {wanted!r}", f"only {', '.join(config.contexts) or 'none'}")
    cluster, user = config.clusters.get(chosen.cluster), config.users.get(chosen.user)
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
    except (OSError, YAMLError, ValidationError, LookupError, TypeError) as error:
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


class Conflict(Exception):
    """The resource is not as it was read any more; nothing was changed. For the caller to read it again."""


class KubernetesResource:
    """One object by its path. Reads are repeated; a change is sent once."""

    def __init__(self, login: Login, path: str, name: str, *, limit_s: float = 20.0) -> None:
        """`name` is how messages call it: `FlinkDeployment streaming/orders-to-iceberg`."""
        self._login = login
        self._path = path
        self.name = name
        limits = httpx.Timeout(limit_s, connect=5.0)
        self._http = httpx.Client(
            base_url=login.server, transport=Bounded(login.trust), timeout=limits, trust_env=False
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
            answer = read_again(lambda: self._http.get(self._path, headers=self._headers()))
        except (httpx.HTTPError, OSError, Busy) as error:
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
