"""The way to the Kubernetes API server: a pod's service account, or a kubeconfig; each is tried on a real one."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from bot.adapters.kubernetes import KubernetesResource, Login, as_pod, by_kubeconfig
from bot.observation.errors import BadConfiguration, CouldNotLook
from tests.adapters.kubernetes import ADMIN, Kubernetes, kubernetes

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
"""The API server is compiled once, which takes minutes."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """An API server with nothing in it."""
    with kubernetes(tmp_path_factory.mktemp("kubernetes")) as server:
        yield server


def is_let_in(login: Login) -> bool:
    """Whether the API server answers us."""
    namespace = KubernetesResource(login, "/api/v1/namespaces/default", "Namespace default")
    try:
        return b'"default"' in namespace.read()
    except CouldNotLook:
        return False
    finally:
        namespace.close()


def written(folder: Path, cluster: dict[str, Any], user: dict[str, Any]) -> Path:
    """A kubeconfig with one context."""
    file = folder / "kubeconfig"
    told = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "production",
        "contexts": [{"name": "production", "context": {"cluster": "one", "user": "waterline"}}],
        "clusters": [{"name": "one", "cluster": cluster}],
        "users": [{"name": "waterline", "user": user}],
    }
    YAML().dump(told, file)
    return file


def test_a_pods_token_is_read_anew_at_each_request(cluster: Kubernetes, tmp_path: Path) -> None:
    """Kubernetes replaces it every hour; an old one is refused."""
    host, _, port = cluster.address.removeprefix("https://").partition(":")
    (tmp_path / "ca.crt").write_bytes(cluster.authority.read_bytes())
    (tmp_path / "token").write_text("expired", encoding="utf-8")
    login = as_pod(tmp_path, {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port})
    before = is_let_in(login)

    (tmp_path / "token").write_text(f"{ADMIN}\n", encoding="utf-8")

    assert (False, True) == (before, is_let_in(login))


def test_a_kubeconfig_with_files_or_data_leads_there(cluster: Kubernetes, tmp_path: Path) -> None:
    """Certificate and token beside the file, or in it."""
    authority = cluster.authority.read_bytes()
    (tmp_path / "token").write_text(ADMIN, encoding="utf-8")
    (tmp_path / "ca.crt").write_bytes(authority)
    by_files = written(
        tmp_path, {"server": cluster.address, "certificate-authority": "ca.crt"}, {"tokenFile": str(tmp_path / "token")}
    )
    with_files = is_let_in(by_kubeconfig(by_files))
    by_data = written(
        tmp_path,
        {"server": cluster.address, "certificate-authority-data": base64.b64encode(authority).decode()},
        {"token": ADMIN},
    )

    with_data = is_let_in(by_kubeconfig(by_data, "production"))

    assert (True, True) == (with_files, with_data)


def test_a_server_with_another_certificate_is_not_believed(cluster: Kubernetes, tmp_path: Path) -> None:
    """The token is never sent to whoever answers."""
    file = written(tmp_path, {"server": cluster.address}, {"token": ADMIN})

    assert not is_let_in(by_kubeconfig(file))


@pytest.mark.parametrize(
    ("user", "context", "found"),
    [({"auth-provider": {"name": "gcp"}}, None, "neither"), ({"token": "t"}, "staging", "only production")],
)
def test_what_cannot_be_used_is_said_at_the_start(
    tmp_path: Path, user: dict[str, Any], context: str | None, found: str
) -> None:
    """No other context is taken instead."""
    file = written(tmp_path, {"server": "https://127.0.0.1:1"}, user)

    with pytest.raises(BadConfiguration, match=found):
        by_kubeconfig(file, context)


def test_outside_of_a_pod_it_is_said_what_to_name(tmp_path: Path) -> None:
    """No service account, no guess."""
    with pytest.raises(BadConfiguration, match="name a `kubeconfig`"):
        as_pod(tmp_path, {})
