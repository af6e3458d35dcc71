"""How addresses are reached over HTTP: whom to trust, who we are, through which proxy, and within which bounds."""

import os
import ssl
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence

import httpcore
import httpx
import stamina

from bot.observation.errors import BadConfiguration
from bot.settings import LoginSettings
from bot.settings.secrets import secret_of

LARGEST = 256 * 1024 * 1024
"""Bytes of one body."""
AGAIN = frozenset({429, 502, 503, 504})
"""Of a read that may be answered in a moment: too much to do, a proxy, a server that is just starting."""
LIMIT_S = 120.0
"""Of one answer, from the end of the request to the end of its body: httpx limits each read only, and a server may send
a byte now and then for ever."""


class Logins(httpx.Auth):
    """Makes the clients. Each address is reached as its login says; one without a login as the system trusts
    (`SSL_CERT_FILE`), with the user and password in the address, if any."""

    def __init__(self, logins: Sequence[LoginSettings] = (), environment: Mapping[str, str] = os.environ) -> None:
        """Tokens and passwords are read at each request: files and variables may be replaced meanwhile.

        Raises BadConfiguration for a certificate or key that cannot be read.
        """
        self._logins = [(httpx.URL(login.at), login, _trust(login)) for login in logins]
        self._environment = environment

    def client(
        self, base_url: str = "", *, timeout: float | httpx.Timeout, whole_s: float | None = None
    ) -> httpx.Client:
        """Follows no redirect, and takes no proxy from the environment. `timeout` is that of one read, `whole_s` that
        of one answer; None: LIMIT_S."""
        mounts = {login.at: Bounded(trust, login.proxy, whole_s=whole_s) for _, login, trust in self._logins}
        transport = Bounded(httpx.create_ssl_context(), whole_s=whole_s)
        return httpx.Client(
            base_url=base_url, timeout=timeout, auth=self, trust_env=False, transport=transport, mounts=mounts
        )

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Adds who we are, unless the request says it already. Raises httpx.ConnectError where that cannot be read."""
        user, secret = request.url.username, request.url.password
        if (login := self._login_for(request.url)) is not None:
            try:
                user, secret = login.user or "", secret_of(login, self._environment)
            except (OSError, ValueError) as error:
                raise httpx.ConnectError(f"The login of {login.at}: {error}", request=request) from error
        if "authorization" in request.headers:
            yield request
        elif user:
            yield from httpx.BasicAuth(user, secret).auth_flow(request)
        else:
            if secret:
                request.headers["authorization"] = f"Bearer {secret}"
            yield request

    def _login_for(self, asked: httpx.URL) -> LoginSettings | None:
        """The one with a secret."""
        for at, login, _ in self._logins:
            has_secret = login.secret_file is not None or login.secret_variable is not None
            if has_secret and (at.scheme, at.host, at.port) == (asked.scheme, asked.host, asked.port):
                return login
        return None


class Busy(Exception):
    """The last answer of a read that was asked several times."""


def read_again(ask: Callable[[], httpx.Response], attempts: int = 3) -> httpx.Response:
    """The answer to a read that may be repeated, asked again after an error of the way and a status in AGAIN. Raises
    httpx.HTTPError, httpx.InvalidURL, Busy."""
    for attempt in stamina.retry_context(
        on=(httpx.TransportError, Busy), attempts=attempts, wait_initial=0.2, wait_max=2.0, timeout=20
    ):
        with attempt:
            answer = ask()
            if answer.status_code in AGAIN:
                raise Busy(f"HTTP {answer.status_code}")
    return answer


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


class Bounded(httpx.HTTPTransport):
    """With a limit of one answer's time and of its body's size."""

    def __init__(self, trust: ssl.SSLContext, proxy: str | None = None, *, whole_s: float | None = None) -> None:
        super().__init__(verify=trust, proxy=proxy)
        self._pool._network_backend = _Backend(LIMIT_S if whole_s is None else whole_s)
        """httpx has no parameter for it."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = super().handle_request(request)
        assert isinstance(answer.stream, httpx.SyncByteStream)
        answer.stream = _Body(answer.stream, request)
        return answer


class _Backend(httpcore.SyncBackend):
    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(stream, self._limit_s)


class _Stream(httpcore.NetworkStream):
    """What is read after the last byte that was sent, one answer of HTTP/1.1, must come within the limit."""

    def __init__(self, inner: httpcore.NetworkStream, limit_s: float) -> None:
        self._inner, self._limit_s = inner, limit_s
        self._ends = time.monotonic() + limit_s

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)
        self._ends = time.monotonic() + self._limit_s

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left = self._ends - time.monotonic()
        if left <= 0:
            raise httpcore.ReadTimeout(f"not whole after {self._limit_s:g} s")
        return self._inner.read(max_bytes, left if timeout is None else min(left, timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, timeout), self._limit_s)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> object:
        return self._inner.get_extra_info(info)


class _Body(httpx.SyncByteStream):
    def __init__(self, inner: httpx.SyncByteStream, request: httpx.Request) -> None:
        self._inner, self._request = inner, request

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._inner:
            size += len(part)
            if size > LARGEST:
                raise httpx.ReadError(f"more than {LARGEST // 2**20} MiB", request=self._request)
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
