"""JSON over HTTP to the workspace on this machine: what the page does with fetch, for Python."""

import json
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

from bot.workspace.payload import Payload
from bot.workspace.refusal import CannotDo

TIMEOUT_S = 60.0


class Loopback:
    """Reads from and posts to one workspace; a fresh connection each time, so nothing is left open."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self._host, self._port = split.hostname or "127.0.0.1", split.port

    def get(self, path: str, **query: str) -> Payload:
        """The JSON at a path; raises CannotDo when the workspace refuses."""
        return self._ask("GET", f"{path}?{urlencode(query)}", None)

    def post(self, path: str, body: Payload) -> Payload:
        """What came of a request; raises CannotDo when the workspace refuses."""
        return self._ask("POST", path, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None) -> Payload:
        with closing(HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)) as connection:
            connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
            response = connection.getresponse()
            answer: Payload = json.loads(response.read())
            if response.status != 200:
                raise CannotDo(str(answer.get("code", response.status)), str(answer.get("message", answer)))
        return answer
