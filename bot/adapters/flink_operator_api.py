"""One custom resource on the Kubernetes API server: read it, and change it only as it was read."""

import json
from collections.abc import Mapping
from copy import copy
from urllib.parse import quote

import httpx
import stamina
from pydantic import BaseModel, ValidationError

from bot.adapters.flink_http import LATER, NOT_SENT
from bot.adapters.flink_operator_login import Login
from bot.adapters.flink_operator_writers import US
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown

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
        """Gives the connections back."""
        self._http.close()

    def beside(self, kind: str, name: str) -> "KubernetesResource":
        """Another one of its namespace, over the same connections: close this one alone."""
        other = copy(self)
        other._path = f"{self._path.rsplit('/', 2)[0]}/{kind.lower()}s/{quote(name, safe='')}"
        other.name = f"{kind} {self.name.partition(' ')[2].partition('/')[0]}/{name}"
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
        token = self._login.token()
        return {"accept": "application/json", **({} if token is None else {"authorization": f"Bearer {token}"})}

    def _unreachable(self, error: Exception) -> CouldNotLook:
        return CouldNotLook(
            f"The Kubernetes API server at {self._login.server} did not answer.",
            f"Expected {self.name}; found {type(error).__name__}: {error}.",
            "Check that it can be reached from here, then try again.",
        )

    def _refused(self, what: str, answer: httpx.Response) -> CouldNotLook:
        remedies = {
            401: "Give Waterline's service account a valid token.",
            403: "Give Waterline's service account the rights of deploy/kubernetes/flink-operator-rights.yaml.",
            404: "Check kind, namespace and name in the job's `start`, and that the operator is installed.",
        }
        return CouldNotLook(
            f"The Kubernetes API server refused to {what} {self.name}.",
            f"Expected success; found HTTP {answer.status_code}: {_reason(answer.content)}.",
            remedies.get(answer.status_code, "Read its reason; nothing was changed."),
        )

    def _unknown(self, doing: str, found: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"Whether {doing} was asked for is not known.",
            f"Expected a yes or no of the Kubernetes API server at {self._login.server}; found {found}.",
            f"Look at {self.name}; do not repeat it before that.",
        )


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
    """The FlinkDeployment or FlinkSessionJob of that name."""
    path = f"/apis/flink.apache.org/v1beta1/namespaces/{namespace}/{kind.lower()}s/{name}"
    return KubernetesResource(login, path, f"{kind} {namespace}/{name}")
