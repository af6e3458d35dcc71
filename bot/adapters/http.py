"""How addresses are reached over HTTP: whom to trust, who we are, through which proxy, and within which bounds."""

import os
import ssl
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from bot.domain.errors import BadConfiguration, CouldNotLook, UnknownTable
from bot.domain.ids import TableName
from bot.domain.setup import Compaction
from bot.domain.trust import Trust
from bot.settings import LoginSettings

LARGEST = 256 * 1024 * 1024
"""Bytes of one body."""
LIMIT_S = 120.0
"""Of one answer, from its first line to the end of its body: httpx limits each read only, and a server may send a byte
now and then for ever."""


class Logins(httpx.Auth):
    """Makes the clients. Each address is reached as its login says; one without a login as the system trusts
    (`SSL_CERT_FILE`), with the user and password in the address, if any."""

    def __init__(self, logins: Sequence[LoginSettings] = (), environment: Mapping[str, str] = os.environ) -> None:
        """Tokens and passwords are read at each request: files and variables may be replaced meanwhile.

        Raises BadConfiguration for a certificate or key that cannot be read.
        """
        self._logins = [(httpx.URL(login.at), login, _trust(login)) for login in logins]
        self._environment = environment

    def client(self, base_url: str = "", *, timeout: float | httpx.Timeout) -> httpx.Client:
        """Follows no redirect, and takes no proxy from the environment."""
        return httpx.Client(
            base_url=base_url,
            timeout=timeout,
            auth=self,
            trust_env=False,
            transport=_Bounded(verify=httpx.create_ssl_context()),
            mounts={login.at: _Bounded(verify=trust, proxy=login.proxy) for _, login, trust in self._logins},
        )

    def async_client(self, *, timeout: httpx.Timeout) -> httpx.AsyncClient:
        """The same, without a bound of the body: whoever uses it reads none."""
        mounts = {
            login.at: httpx.AsyncHTTPTransport(verify=trust, proxy=login.proxy) for _, login, trust in self._logins
        }
        verify = httpx.create_ssl_context()
        return httpx.AsyncClient(timeout=timeout, auth=self, trust_env=False, verify=verify, mounts=mounts)

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds who we are, unless the request says it already. Raises httpx.ConnectError where that cannot be read."""
        told = request.url
        for at, login, _ in self._logins:
            if (at.scheme, at.host, at.port) == (told.scheme, told.host, told.port):
                try:
                    authorization = self._authorization(login)
                except (OSError, ValueError) as error:
                    raise httpx.ConnectError(f"The login of {login.at}: {error}", request=request) from error
                if authorization is not None:
                    request.headers.setdefault("authorization", authorization)
                    yield request
                    return
        if told.username and "authorization" not in request.headers:
            yield from httpx.BasicAuth(told.username, told.password).auth_flow(request)
        else:
            yield request

    def _authorization(self, login: LoginSettings) -> str | None:
        secret = None
        if login.secret_file is not None:
            secret = login.secret_file.read_text(encoding="utf-8").strip()
        elif login.secret_variable is not None:
            secret = self._environment.get(login.secret_variable, "")
        if secret is None:
            return None
        if not secret:
            raise ValueError(f"{login.secret_file or login.secret_variable} is empty")
        return f"Bearer {secret}" if login.user is None else httpx.BasicAuth(login.user, secret)._auth_header


def why_refused(status: int, otherwise: str) -> str:
    remedies = {
        401: "Check token or password of this address under `logins`: they are missing, wrong or expired.",
        403: "Give Waterline's user the right to this address, or name another under `logins`.",
    }
    return remedies.get(status, otherwise)


def why_unreachable(error: Exception, otherwise: str) -> str:
    """What to do about a connection that did not come about."""
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return "Name the certificate authority of this address under `logins` (`ca_file`)."
    if "ALERT" in str(error) or isinstance(error, httpx.RemoteProtocolError):
        return "Check that it runs. If it asks for a client certificate, name that under `logins` (`certificate_file`)."
    return otherwise


class _Bounded(httpx.HTTPTransport):
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        assert isinstance(answer.stream, httpx.SyncByteStream)
        answer.stream = _Body(answer.stream, request)
        return answer


class _Body(httpx.SyncByteStream):
    def __init__(self, inner: httpx.SyncByteStream, request: httpx.Request) -> None:
        self._inner, self._request = inner, request
        self._ends = time.monotonic() + LIMIT_S

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._inner:
            size += len(part)
            if size > LARGEST:
                raise httpx.ReadError(f"more than {LARGEST // 2**20} MiB", request=self._request)
            if time.monotonic() > self._ends:
                raise httpx.ReadTimeout(f"not whole after {LIMIT_S:g} s", request=self._request)
            yield part

    def close(self) -> None:
        self._inner.close()


def _trust(login: LoginSettings) -> ssl.SSLContext:
    trust = httpx.create_ssl_context()
    file = login.ca_file
    try:
        if file is not None:
            trust.load_verify_locations(str(file))
        file = login.certificate_file
        if file is not None:
            trust.load_cert_chain(str(file), None if login.key_file is None else str(login.key_file))
    except (OSError, ssl.SSLError) as error:
        raise BadConfiguration(
            f"The login of {login.at} cannot be used.",
            f"Expected a certificate and its key in PEM form; found {type(error).__name__} in {file}.",
            "Check the files that `logins` names, and that they can be read here.",
        ) from error
    return trust


class HttpSchedulers:
    """The port `Schedulers`. A request is done when the scheduler answers 2xx; redirects are not followed."""

    def __init__(
        self,
        compactions: Mapping[TableName, tuple[Compaction, ...]],
        environment: Mapping[str, str],
        *,
        limit_s: float = 10.0,
        logins: Logins | None = None,
    ) -> None:
        """`environment` holds the tokens."""
        self._compactions = compactions
        self._environment = environment
        self._http = (logins or Logins()).client(timeout=limit_s)

    def names(self, table: TableName) -> tuple[str, ...]:
        return tuple(each.name for each in self._compactions.get(table, ()))

    def pause(self, table: TableName) -> tuple[str, ...]:
        asked = ((each, self._asked(each, each.pause)) for each in self._compactions.get(table, ()))
        return tuple(
            f"{_first(each.name)} could not be paused ({problem}): it may come in between."
            if problem
            else f"{_first(each.name)} is paused."
            for each, problem in asked
        )

    def resume(self, table: TableName) -> None:
        asked = ((each, self._asked(each, each.resume)) for each in self._compactions.get(table, ()))
        failed = [f"{each.name}: {problem}" for each, problem in asked if problem]
        if failed:
            raise CouldNotLook(
                f"A compaction of {table} could not be resumed.",
                f"Expected its scheduler to answer 2xx; found {'; '.join(failed)}.",
                "Waterline tries again. If this continues, resume it by hand.",
            )

    def close(self) -> None:
        self._http.close()

    def _asked(self, one: Compaction, body: Mapping[str, str | bool | int]) -> str:
        """What is wrong; empty where it was done."""
        token = self._environment.get(one.token_variable, "") if one.token_variable else None
        if token == "":
            return f"{one.token_variable} is not set"
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = self._http.request(one.method, one.url, json=dict(body), headers=headers)
        except httpx.HTTPError as error:
            return type(error).__name__
        return "" if answer.is_success else f"HTTP {answer.status_code}"


def _first(name: str) -> str:
    return name[:1].upper() + name[1:]


_LIMIT_S = 20.0
"""The server itself waits ten seconds for a catalog."""


def trust_from(url: str, table: TableName, token: str | None) -> Trust:
    """The answer of the server at `url`, asked once. Raises UnknownTable, CouldNotLook."""
    address = f"{url.rstrip('/')}/v1/tables/{quote(table, safe='')}/trust"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = httpx.get(address, headers=headers, timeout=_LIMIT_S)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise _no_answer(url, f"found {type(error).__name__}: {error}".rstrip(": ")) from error
    if answer.status_code == httpx.codes.NOT_FOUND and "problem+json" in answer.headers.get("content-type", ""):
        raise UnknownTable(
            f"The Waterline at {url} does not watch a table {table}.",
            "Expected a table of its configuration, as namespace.table.",
            f"Look at {url.rstrip('/')}/v1/tables for the tables that it watches.",
        )
    if answer.status_code != httpx.codes.OK:
        hint = " Set WATERLINE_WEB_TOKEN." if answer.status_code == httpx.codes.UNAUTHORIZED else ""
        raise _no_answer(url, f"it answered {answer.status_code}.{hint}")
    try:
        return Trust.model_validate_json(answer.content, extra="ignore")
    except ValidationError as error:
        raise _no_answer(url, "what answered is no Waterline, or one of another version.") from error


def _no_answer(url: str, found: str) -> CouldNotLook:
    return CouldNotLook(
        f"It is not known whether the table can be trusted: {url} did not answer.",
        f"Expected an answer from Waterline; {found}",
        "Check the address, and that Waterline runs there. Do not trust the table until it answers.",
    )
