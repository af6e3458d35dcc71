"""What Flink's stack traces say: the deepest cause, and whether Flink has only waited in vain for itself."""

import re

from pydantic import BaseModel, ValidationError

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
