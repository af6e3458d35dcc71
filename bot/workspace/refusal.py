"""How Slack says no: `ok: false`, an error code, and sometimes messages that point into the payload.

The one loose type of the workspace: a JSON object as Slack sends and receives it.

The workspace is a wire, so it keeps what was sent as it was sent.
Whatever the workspace decides on (people, limits, deliveries, entries of the wire log) is a typed record.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

Payload: TypeAlias = dict[str, Any]


class SlackRefusal(Exception):
    """Raised by a Web API method when Slack would answer `ok: false`.

    `code` is Slack's error code, `messages` go to `response_metadata.messages`, `extra` into the answer itself.
    """

    def __init__(
        self,
        code: str,
        messages: Sequence[str] = (),
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **extra: object,
    ) -> None:
        super().__init__(code if not messages else f"{code}: {'; '.join(messages)}")
        self.code = code
        self.messages = tuple(messages)
        self.status = status
        self.headers = headers or {}
        self.extra = extra

    def body(self) -> Payload:
        answer: Payload = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            answer["errors"] = list(self.messages)
            answer["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in self.messages]}
        return answer


class CannotDo(Exception):
    """Raised when a person asks the page for something that Slack's own client would not let them do.

    The message has what happened, what was expected and found, and what to do next.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnusableUrl(Exception):
    """Raised when a response_url is unknown, too old or used up; `code` is Slack's word for it."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
