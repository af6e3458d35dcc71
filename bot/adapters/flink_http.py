"""HTTP to one Flink endpoint (JobManager or SQL gateway), with its failures translated once.

Reads are repeated; requests that change something never are.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from bot.adapters.http import Busy, Logins, read_again, why_refused, why_unreachable
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, WaterlineError, first_problem

B = TypeVar("B", bound=BaseModel)
T = TypeVar("T")
_CAUSED_BY = "Caused by: "
_FRAMES = ("at ", "... ", "<Exception on server side:", "End of exception on server side>")
_WAITED_IN_VAIN = re.compile(
    r"java\.util\.concurrent\.TimeoutException: Invocation of \["
    r"|(akka|org\.apache\.pekko)\.pattern\.AskTimeoutException\b"
)
"""As `PekkoInvocationHandler` words it (1.20.3, 2.1.1; before 1.18 Pekko was Akka). Time-outs of others, such as
`java.net.SocketTimeoutException` of an object store, end what was asked for."""


class Refusal(BaseModel):
    """Flink's body of an error; `errors` may hold a whole stack trace."""

    errors: tuple[str, ...] = ()


def trace_of(body: bytes) -> str:
    """All that a body of an error says; as it is, where it is not Flink's."""
    try:
        return "\n".join(Refusal.model_validate_json(body).errors)
    except ValidationError:
        return body.decode("utf-8", "replace")


def deepest_cause(trace: str) -> str | None:
    """The last cause that a trace names, else its first line, at most 400 characters; None: it is empty."""
    lines = [line for line in map(str.strip, trace.splitlines()) if line and not line.startswith(_FRAMES)]
    causes = [line.removeprefix(_CAUSED_BY) for line in lines if line.startswith(_CAUSED_BY)]
    told = causes[-1:] or lines[:1]
    return told[0].rstrip(".")[:400] if told else None


def waited_in_vain(trace: str) -> bool:
    """Whether one part of Flink gave up waiting for another's answer: what was asked for may still happen."""
    causes = (line.strip().removeprefix(_CAUSED_BY) for line in trace.splitlines())
    return any(_WAITED_IN_VAIN.match(cause) for cause in causes)


NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)
"""After these the request surely never left."""
LATER = frozenset({httpx.codes.UNAUTHORIZED, httpx.codes.TOO_MANY_REQUESTS})
"""A token that is being replaced, a server with too much to do: the same change may be taken in a moment."""
_AGAIN = frozenset({502, 503, 504})
"""A proxy or a JobManager that is just starting."""


class FlinkHttp:
    """One endpoint. `what` names it in messages: `Flink REST`, `The SQL gateway`."""

    def __init__(
        self,
        url: str,
        what: str,
        *,
        read_limit_s: float = 30.0,
        tries: int = 3,
        logins: Logins | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.what = what
        self._tries = tries
        limits = httpx.Timeout(read_limit_s, connect=5.0)
        self._http = (logins or Logins()).client(self.url, timeout=limits)

    def close(self) -> None:
        self._http.close()

    def get(self, path: str, params: Mapping[str, str | int] | None = None) -> bytes | None:
        """The body of a read; None when Flink does not know the thing (404). Tried up to three times.

        Raises CouldNotLook.
        """
        try:
            answer = read_again(lambda: self._http.get(path, params=params), self._tries)
        except (httpx.HTTPError, httpx.InvalidURL, Busy) as error:
            raise self.unreachable(error) from error
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        if not answer.is_success:
            raise self.refused(f"GET {path}", answer)
        return answer.content

    def page(self, kind: type[B], path: str) -> B | None:
        """What `get` gives, as this model. Raises CouldNotLook, also where it is not such a thing."""
        body = self.get(path)
        return None if body is None else self.parsed(kind, body, f"GET {path}")

    def parsed(self, kind: type[B], body: bytes, asked: str) -> B:
        """An answer to `asked`. Raises CouldNotLook."""
        try:
            return kind.model_validate_json(body)
        except ValidationError as error:
            raise CouldNotLook(
                f"{self.what} at {self.url} answered {asked} with a body that cannot be read.",
                f"Expected a body as Flink 1.20 or 2.x writes it; found at {first_problem(error)}.",
                "Check that the address is Flink's and not a login page or another service.",
            ) from error

    def send(self, method: str, path: str, body: Mapping[str, object] | None, doing: str) -> httpx.Response:
        """One request that changes something, sent once; any status is handed back.

        Raises CouldNotLook when it surely was not sent, OutcomeUnknown when nobody knows: it was sent and not
        answered, or one part of Flink gave up waiting for another. `doing` names it in the message: `the stop of run
        3824b0`.
        """
        content = None if body is None else json.dumps(body)
        headers = None if body is None else {"content-type": "application/json"}
        try:
            answer = self._http.request(method, path, content=content, headers=headers)
        except NOT_SENT as error:
            raise self.unreachable(error) from error
        except httpx.TransportError as error:
            raise self.unknown(doing, f"{type(error).__name__} {error}".strip()) from error
        if answer.status_code in _AGAIN:
            raise self.unknown(doing, f"HTTP {answer.status_code}")
        if not answer.is_success and waited_in_vain(trace_of(answer.content)):
            raise self.unknown(doing, f"HTTP {answer.status_code}: {reason(answer.content)}")
        return answer

    def unreachable(self, error: Exception) -> CouldNotLook:
        return CouldNotLook(
            f"{self.what} at {self.url} did not answer.",
            f"Expected an HTTP answer; found {type(error).__name__}: {error}.",
            why_unreachable(
                error, "Check that it runs and that its address in the configuration is right, then try again."
            ),
        )

    def refused(self, asked: str, answer: httpx.Response) -> CouldNotLook:
        """The endpoint answered with an error; what was asked was surely not done."""
        return CouldNotLook(
            f"{self.what} at {self.url} refused {asked}.",
            f"Expected success; found HTTP {answer.status_code}: {reason(answer.content)}.",
            why_refused(answer.status_code, "Read the log of that process for the cause, then try again."),
        )

    def said_no(self, asked: str, answer: httpx.Response) -> CommitRefused:
        """The same of what is to change something: asking again would change nothing."""
        told = self.refused(asked, answer)
        return CommitRefused(told.happened, told.found, told.remedy)

    def not_taken(self, asked: str, answer: httpx.Response) -> WaterlineError:
        """What an error in answer to a change means: CommitRefused, where it is a definite no; CouldNotLook, where it
        was surely not done and may be taken later; OutcomeUnknown, where it may be done all the same (408, 5xx)."""
        if answer.is_server_error or answer.status_code == httpx.codes.REQUEST_TIMEOUT:
            return self.unknown(asked, f"HTTP {answer.status_code}: {reason(answer.content)}")
        return self.refused(asked, answer) if answer.status_code in LATER else self.said_no(asked, answer)

    def unknown(self, doing: str, found: str) -> OutcomeUnknown:
        return OutcomeUnknown(
            f"It is not known whether {doing} happened.",
            f"Expected {self.what} at {self.url} to confirm or refuse it; found {found}.",
            "Check in Flink whether it happened. Do not repeat it before that.",
        )


def reason(body: bytes) -> str:
    """Flink's own words of an error: the deepest cause it names, at most 400 characters."""
    return deepest_cause(trace_of(body)) or "no reason given"


def polled(ask: Callable[[], T | None], limit_s: float, every_s: float) -> T | None:
    """The first answer that is not None; None where there was none within the limit. Asks at least once; what `ask`
    raises ends it."""
    ends = time.monotonic() + limit_s
    while True:
        answer = ask()
        if answer is not None or time.monotonic() >= ends:
            return answer
        time.sleep(every_s)
