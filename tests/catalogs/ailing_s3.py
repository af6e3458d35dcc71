"""A proxy before an S3 that can deny or throttle the requests that a test names."""

import http.client
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.adapters.serving import handled

ANSWERS = {
    "denied": (403, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"),
    "throttled": (503, b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"),
}
Asked = Callable[[str, str], bool]
"""Method and path -> whether it falls ill."""


class AilingS3:
    """What was asked of it, and what becomes of it."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.address = ""
        self.ailment: str | None = None
        """`denied`, `throttled`, or None: everything is handed on."""
        self.of: Asked = lambda _method, _path: True
        self.admitted: str | None = None
        """The only access key whose requests are handed on; None: any."""
        self.ill: list[str] = []
        """Methods of the requests that fell ill, in order."""

    def falls(self, ailment: str, of: Asked = lambda _method, _path: True) -> None:
        """From now on, for the requests of this kind."""
        self.ailment, self.of = ailment, of
        self.ill.clear()

    def well(self) -> None:
        """From now on everything is handed on."""
        self.ailment = None


@contextmanager
def ailing_s3(target: str) -> Iterator[AilingS3]:
    """The proxy, for the length of a `with`; well at first."""
    s3 = AilingS3(target)
    with handled(type("Handler", (_Handler,), {"s3": s3})) as s3.address:
        try:
            yield s3
        finally:
            s3.well()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    s3: AilingS3

    def log_message(self, *_told: object) -> None:
        """Nothing is printed."""

    def _hand_on(self) -> None:
        body = self._body()
        ailment = self.s3.ailment if self.s3.of(self.command, self.path) else None
        if self.s3.admitted is not None and f"Credential={self.s3.admitted}/" not in self.headers["authorization"]:
            ailment = "denied"
        if ailment is not None:
            self.s3.ill.append(self.command)
            self._answer(*ANSWERS[ailment], {"content-type": "application/xml"})
        else:
            self._pass(body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _hand_on  # noqa: N815 - the names are the library's

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _pass(self, body: bytes) -> None:
        behind = http.client.HTTPConnection(urlsplit(self.s3.target).netloc, timeout=30)
        behind.request(self.command, self.path, body, _without(self.headers.items()))
        answer = behind.getresponse()
        content = answer.read()
        length = answer.getheader("content-length") if self.command == "HEAD" else None
        self._answer(answer.status, content, _without(answer.getheaders()), length)
        behind.close()

    def _answer(self, status: int, body: bytes, headers: dict[str, str], length: str | None = None) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", length or str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _without(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Without those of the connection itself, which are written anew."""
    of_connection = {"transfer-encoding", "connection", "content-length", "date", "server"}
    return {name: value for name, value in headers if name.lower() not in of_connection}
