"""A real Kubernetes API server on loopback, built once from its Go modules into the cache, and its administrator.

Nothing else of Kubernetes runs: no node, no controller, no operator. What the operator would write, a test writes.
"""

import fcntl
import hashlib
import os
import shutil
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import httpx
import pytest

from bot.adapters.kubernetes import Login
from bot.pinned_jars import cache_folder
from tests.adapters.serving import unused_address

SOURCE = Path(__file__).with_name("kube_apiserver")
BUILD = "WATERLINE_BUILD_API_SERVER"
ADMIN = "for-tests-only"
"""The administrator's token."""


class Kubernetes:
    """The running server."""

    def __init__(self, address: str, authority: Path) -> None:
        self.address = address
        self.authority = authority
        self.admin = httpx.Client(
            base_url=address,
            verify=ssl.create_default_context(cafile=str(authority)),
            headers={"authorization": f"Bearer {ADMIN}"},
            trust_env=False,
            timeout=20,
        )

    def login(self, token: str = ADMIN) -> Login:
        """As a pod would have it."""
        return Login(self.address, ssl.create_default_context(cafile=str(self.authority)), lambda: token)

    def asked(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> Any:
        """One request of the administrator that must succeed."""
        answer = self.admin.request(method, path, json=body, headers={"content-type": kind})
        assert answer.is_success, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json()

    def merge(self, path: str, body: Any) -> Any:
        """A merge patch of the administrator."""
        return self.asked("PATCH", path, body, "application/merge-patch+json")

    def installed(self, definition: Any) -> None:
        """A custom resource definition, taken up; written anew if it is there."""
        base = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        name = definition["metadata"]["name"]
        if self.admin.get(f"{base}/{name}").is_success:
            self.merge(f"{base}/{name}", {"spec": definition["spec"]})
        else:
            self.asked("POST", base, definition)
        for _ in range(200):
            told = self.asked("GET", f"{base}/{name}").get("status", {}).get("conditions") or []
            if any(each["type"] == "Established" and each["status"] == "True" for each in told):
                return
            time.sleep(0.05)
        raise AssertionError(f"{name} was not established")


def is_asked_for(switch: str) -> bool:
    """Whether `make test-operator` or `make test-deploy` wants this to be built here."""
    return os.environ.get(switch) == "1"


def cannot_be_had(reason: str, switch: str) -> NoReturn:
    """Fails where it was asked for, because a run that skips everything would look like one that passed; else skips."""
    if is_asked_for(switch):
        pytest.fail(f"{reason}. {switch}=1 asks for it.", pytrace=False)
    pytest.skip(reason)


def built_from_go(name: str, what: str, source: Path, target: str, package: str = ".") -> Path:
    """A program of this module, kept in the cache; built here only where `make TARGET` asks for it, and where that
    fails, the test does."""
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(source.iterdir()))).hexdigest()[:16]
    folder = cache_folder() / name
    program = folder / digest
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if program.exists():
            return program
        if not is_asked_for(BUILD):
            pytest.skip(f"{what} is not built yet: `make {target}` does it, in some minutes")
        go = shutil.which("go")
        if go is None:
            cannot_be_had(f"{what} is built from Go modules, and there is no Go", BUILD)
        built = program.with_suffix(".part")
        command = ["nice", go, "build", "-C", str(source), "-trimpath", "-ldflags=-s -w", "-o", str(built), package]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
        if ended.returncode:
            cannot_be_had(f"{what} could not be built: {ended.stderr[-500:]}", BUILD)
        built.replace(program)
    return program


def server_program() -> Path:
    """The built server."""
    return built_from_go("kube-apiserver", "the Kubernetes API server", SOURCE, "test-operator")


@contextmanager
def kubernetes(folder: Path) -> Iterator[Kubernetes]:
    """A server with nothing in it; its files lie in `folder`."""
    program = server_program()
    store, address = unused_address(), unused_address().replace("http", "https")
    key = folder / "service-accounts.key"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f'{ADMIN},admin,admin,"system:masters"\n', encoding="utf-8")
    flags = {
        "etcd-servers": store,
        "bind-address": "127.0.0.1",
        "advertise-address": "127.0.0.1",
        "secure-port": address.rpartition(":")[2],
        "cert-dir": folder,
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": key,
        "service-account-signing-key-file": key,
        "token-auth-file": folder / "tokens.csv",
        "authorization-mode": "RBAC",
        "service-cluster-ip-range": "10.0.0.0/24",
        "endpoint-reconciler-type": "none",
    }
    environment = {**os.environ, "ETCD_DIR": str(folder / "etcd"), "ETCD_URL": store}
    with (folder / "server.log").open("wb") as log:
        told = [str(program), *(f"--{name}={value}" for name, value in flags.items())]
        process = subprocess.Popen(told, env=environment, stdout=log, stderr=log)
        try:
            server = _ready(address, folder, process)
            yield server
            server.admin.close()
        finally:
            process.terminate()
            process.wait(timeout=30)


def _ready(address: str, folder: Path, process: "subprocess.Popen[bytes]") -> Kubernetes:
    authority = folder / "apiserver.crt"
    ends = time.monotonic() + 120
    while time.monotonic() < ends and process.poll() is None:
        if authority.exists() and authority.stat().st_size:
            server = Kubernetes(address, authority)
            try:
                if server.admin.get("/readyz").is_success:
                    return server
            except httpx.TransportError:
                pass
            server.admin.close()
        time.sleep(0.2)
    raise AssertionError(f"the API server did not get ready: {(folder / 'server.log').read_text()[-2000:]}")
