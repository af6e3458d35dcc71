"""A proxy that hands every request on, and can lose the answer to a commit after the catalog has carried it out, or
ask for it once more, as gateways do that have lost the first answer."""

import http.client
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.adapters.serving import handled

_NO_WORD = b'{"error": {"message": "?", "type": "?", "code": 500}}'
Loss = int | str
"""An HTTP status to answer instead, `reset` (the connection is torn down), `before` (not even handed on), or `twice`
(handed on twice; the second answer passes)."""


class LosingProxy:
    """What was asked through it, and what becomes of the next commits."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.address = ""
        self.commits: list[int] = []
        """Status of each commit, as the catalog answered it."""
        self.losses: list[Loss] = []
        """For the next commits, in order; then answers pass again."""
        self.in_between: Callable[[], object] = lambda: None
        """What happens between the two of a commit that is handed on twice."""
        self.before_commit: Callable[[], object] = lambda: None
        """What happens before a commit is handed on."""
        self.is_away_afterwards = False
        """Whether nothing can be read any more once a commit was handed on."""

    @property
    def properties(self) -> dict[str, str]:
        """Of the catalog behind it."""
        return {"type": "rest", "uri": self.address}


@contextmanager
def losing_proxy(target: str) -> Iterator[LosingProxy]:
    """The proxy, for the length of a `with`."""
    proxy = LosingProxy(target)
    with handled(type("Handler", (_Handler,), {"proxy": proxy})) as proxy.address:
        yield proxy


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    proxy: LosingProxy

    def log_message(self, *_told: object) -> None:
        """Nothing is printed."""

    def _hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        is_commit = self._is_commit()
        loss = self.proxy.losses.pop(0) if is_commit and self.proxy.losses else None
        if loss == "before":
            self._tear_down()
            return
        if not is_commit and self.proxy.is_away_afterwards and self.proxy.commits:
            self._answer(503, "application/json", _NO_WORD)
            return
        if is_commit:
            self.proxy.before_commit()
        status, kind, answer = self._asked(body)
        if loss == "twice":
            self.proxy.commits.append(status)
            self.proxy.in_between()
            status, kind, answer = self._asked(body)
        if is_commit:
            self.proxy.commits.append(status)
        if loss == "reset":
            self._tear_down()
        elif loss in {None, "twice"}:
            self._answer(status, kind, answer)
        else:
            self._answer(int(loss), "application/json", _NO_WORD)

    do_GET = do_POST = do_HEAD = do_DELETE = _hand_on  # noqa: N815 - the names are the library's

    def _is_commit(self) -> bool:
        """A change of a table in an Iceberg REST catalog or in Glue."""
        to_glue = self.headers.get("x-amz-target", "").endswith(".UpdateTable")
        return self.command == "POST" and ("/tables/" in self.path or to_glue)

    def _asked(self, body: bytes) -> tuple[int, str, bytes]:
        with_target = http.client.HTTPConnection(urlsplit(self.proxy.target).netloc, timeout=30)
        headers = {key: value for key, value in self.headers.items() if key.lower() != "accept-encoding"}
        with_target.request(self.command, self.path, body or None, headers)
        answer = with_target.getresponse()
        told = answer.status, answer.getheader("content-type", "application/json"), answer.read()
        with_target.close()
        return told

    def _answer(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _tear_down(self) -> None:
        """RST instead of FIN: the other side sees a connection reset."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
