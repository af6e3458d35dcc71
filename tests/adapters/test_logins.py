"""Addresses behind a login: a private certificate authority, a client certificate, a token, a password, a proxy."""

import json
import ssl
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.adapters import http, trust_server
from bot.adapters.flink_http import FlinkHttp
from bot.adapters.http import Logins
from bot.adapters.kubernetes import KubernetesResource, Login, by_kubeconfig
from bot.adapters.trust_server import trust_from
from bot.incident.trust import Trust
from bot.observation.errors import BadConfiguration, CouldNotLook, WaterlineError
from bot.observation.ids import TableName
from bot.settings import LoginSettings
from tests.adapters.serving import served
from tests.telling.receivers import dripping

OVERVIEW = "/jobs/overview"


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate that signs itself, and its key."""
    file, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", file],
        check=True, capture_output=True,
    )  # fmt: skip
    return file, key


class Guarded:
    """A Flink that lets in who sends the right header."""

    def __init__(self, wanted: str | None) -> None:
        self.wanted = wanted
        self.app = Starlette(routes=[Route("/{path:path}", self.answer)])

    async def answer(self, request: Request) -> Response:
        """One request."""
        if self.wanted is not None and request.headers.get("authorization") != self.wanted:
            return Response('{"errors": ["who are you?"]}', 401)
        return Response('{"jobs": []}')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates of a server and of a client."""
    made = tmp_path_factory.mktemp("certificates")
    certificate(made, "server")
    certificate(made, "client")
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """A Flink that asks for a certificate, and whose own no system trusts."""
    tls = {"ssl_certfile": folder / "server.pem", "ssl_keyfile": folder / "server.key"}
    with served(
        Guarded(None).app, **tls, ssl_ca_certs=str(folder / "client.pem"), ssl_cert_reqs=int(ssl.CERT_REQUIRED)
    ) as at:
        yield at


def asked(url: str, *logins: LoginSettings) -> bytes | None:
    """What that Flink answers us."""
    flink = FlinkHttp(url, "Flink REST", tries=1, logins=Logins(logins, {"TOKEN": "t0"}))
    try:
        return flink.get(OVERVIEW)
    finally:
        flink.close()


def kubernetes(url: str) -> bytes:
    """What a Kubernetes API server answers us, asked once."""
    login = Login(url, ssl.create_default_context(), lambda: None)
    return KubernetesResource(login, "/apis/x", "Pod a/b").change({}, "the change")


def waterline(url: str) -> Trust:
    """What another Waterline answers us."""
    return trust_from(url, TableName("sales.orders"), None)


def test_a_server_that_asks_for_a_certificate_is_reached_with_it(folder: Path, address: str) -> None:
    """Each thing that is missing has a remedy of its own."""
    whole = LoginSettings(
        at=address,
        ca_file=folder / "server.pem",
        certificate_file=folder / "client.pem",
        key_file=folder / "client.key",
    )

    with pytest.raises(CouldNotLook) as untrusted:
        asked(address)
    with pytest.raises(CouldNotLook) as unknown:
        asked(address, LoginSettings(at=address, ca_file=folder / "server.pem"))

    assert asked(address, whole) == b'{"jobs": []}'
    assert "ca_file" in untrusted.value.remedy
    assert "certificate_file" in unknown.value.remedy


def test_the_systems_own_authorities_are_believed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`SSL_CERT_FILE` names them, as for every other program."""
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "server.pem"))
    tls = {"ssl_certfile": folder / "server.pem", "ssl_keyfile": folder / "server.key"}

    with served(Guarded(None).app, **tls) as at:
        assert asked(at) == b'{"jobs": []}'


def test_a_token_is_read_at_each_request(tmp_path: Path) -> None:
    """It is replaced while the bot runs; a wrong one is told from a server that is down."""
    token = tmp_path / "token"
    token.write_text("expired")
    guarded = Guarded("Bearer t0")

    with served(guarded.app) as at:
        flink = FlinkHttp(at, "Flink REST", tries=1, logins=Logins([LoginSettings(at=at, secret_file=token)]))
        with pytest.raises(CouldNotLook, match="401") as refused:
            flink.get(OVERVIEW)
        token.write_text("t0\n")
        after = flink.get(OVERVIEW)
        token.unlink()
        with pytest.raises(CouldNotLook, match="The login of"):
            flink.get(OVERVIEW)
        flink.close()

    assert "`logins`" in refused.value.remedy
    assert after == b'{"jobs": []}'


def test_a_login_is_only_for_its_address() -> None:
    """Neither the token nor the password reaches another server; a password in the address goes there as ever."""
    with served(Guarded("Bearer t0").app) as one, served(Guarded("Basic YW5hOnQw").app) as other:
        token = LoginSettings(at=one, secret_variable="TOKEN")
        basic = LoginSettings(at=other, user="ana", secret_variable="TOKEN")

        with pytest.raises(CouldNotLook, match="401"):
            asked(other, token)
        both = [asked(one, token, basic), asked(other, token, basic)]
        in_address = asked(other.replace("http://", "http://ana:t0@"), token)

    assert [*both, in_address] == [b'{"jobs": []}'] * 3


def test_a_certificate_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    """Before an incident needs it."""
    with pytest.raises(BadConfiguration, match="cannot be used"):
        Logins([LoginSettings(at="https://flink", ca_file=tmp_path / "gone.pem")])


@pytest.mark.parametrize("begins", [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"])
@pytest.mark.parametrize("ask", [asked, kubernetes, waterline])
def test_an_answer_that_comes_byte_by_byte_is_given_up(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[[str], object], begins: bytes
) -> None:
    """In its headers or in its body: each byte comes in time, and the whole never does."""
    monkeypatch.setattr(http, "LIMIT_S", 0.3)
    monkeypatch.setattr(trust_server, "_LIMIT_S", 0.3)

    with dripping(begins) as at, pytest.raises(WaterlineError, match="ReadTimeout"):
        ask(at.removesuffix("/hook"))


def test_a_body_that_is_too_large_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fill the memory."""
    monkeypatch.setattr(http, "LARGEST", 5)

    with served(Guarded(None).app) as at, pytest.raises(CouldNotLook, match="more than 0 MiB"):
        asked(at)


def kubeconfig(folder: Path, server: str, user: dict[str, object]) -> Path:
    """With one context."""
    file = folder / "kubeconfig"
    told = {
        "current-context": "production",
        "contexts": [{"name": "production", "context": {"cluster": "one", "user": "waterline"}}],
        "clusters": [{"name": "one", "cluster": {"server": server}}],
        "users": [{"name": "waterline", "user": user}],
    }
    YAML().dump(told, file)
    return file


@pytest.mark.parametrize("user", [{"tokenFile": "token"}, {"exec": {"command": "./fetch", "args": ["token"]}}])
def test_a_kubeconfig_names_its_files_relative_to_itself(tmp_path: Path, user: dict[str, object]) -> None:
    """A token's file, or a program that fetches one; where it is gone for a moment, that is said."""
    (tmp_path / "token").write_text("t0")
    program = tmp_path / "fetch"
    program.write_text(
        f"#!/bin/sh\ntest -f {tmp_path}/$1 && cat <<-end\n"
        '{"status": {"token": "t0", "expirationTimestamp": "2020-01-01T00:00:00Z"}}\nend\n'
    )
    program.chmod(0o700)

    with served(Guarded("Bearer t0").app) as at:
        resource = KubernetesResource(by_kubeconfig(kubeconfig(tmp_path, at, user)), "/apis/x", "FlinkDeployment a/b")
        body = resource.read()
        (tmp_path / "token").unlink()
        with pytest.raises(CouldNotLook, match="was not asked"):
            resource.change({}, "a start")
        resource.close()

    assert body == b'{"jobs": []}'


@pytest.mark.parametrize(("lives", "runs"), [(timedelta(hours=1), 1), (timedelta(seconds=30), 2), (None, 1)])
def test_a_fetched_token_is_kept_until_it_expires(tmp_path: Path, lives: timedelta | None, runs: int) -> None:
    """The programs of clouds take a second or two; not each says when its token expires."""
    program, status = tmp_path / "fetch", {"token": "t0"}
    if lives is not None:
        status["expirationTimestamp"] = f"{datetime.now(UTC) + lives:%Y-%m-%dT%H:%M:%SZ}"
    program.write_text(f"#!/bin/sh\necho x >> {tmp_path}/runs\necho '{json.dumps({'status': status})}'")
    program.chmod(0o700)
    login = by_kubeconfig(kubeconfig(tmp_path, "https://127.0.0.1:1", {"exec": {"command": "./fetch"}}))

    assert [login.token(), login.token()] == ["t0", "t0"]
    assert (tmp_path / "runs").read_text() == "x\n" * runs
