"""One Web API call: its arguments, decoded from a form or from JSON, and typed access to them."""

import json
from collections.abc import Callable
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl

from bot.workspace.people import Payload, SlackRefusal
from bot.workspace.world import World

_JSON_ARGUMENTS = ("blocks", "view", "metadata", "files")
_FALSE = ("", "0", "false", "False")


class Call:
    """The arguments of one call; the token is kept apart and never logged."""

    def __init__(self, method: str, token: str | None, arguments: Payload) -> None:
        self.method = method
        self.token = token
        self.arguments = arguments

    def text(self, name: str, default: str = "") -> str:
        value = self.arguments.get(name)
        return default if value is None else str(value)

    def required(self, name: str, code: str = "invalid_arguments") -> str:
        """An argument that must be there and not be empty; refuses with `code` otherwise."""
        value = self.text(name)
        if not value:
            raise SlackRefusal(code, [f"missing required field: {name}"] if code == "invalid_arguments" else ())
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.arguments.get(name)
        return default if value is None else str(value) not in _FALSE

    def number(self, name: str, default: int) -> int:
        """A whole number; refuses anything else."""
        value = self.text(name)
        if not value:
            return default
        if not value.isdigit():
            raise SlackRefusal("invalid_arguments", [f"must be a whole number [json-pointer:/{name}]"])
        return int(value)

    def parsed(self, name: str, refused_as: str) -> object | None:
        """A structured argument: JSON text in a form, or already an object; refuses with `refused_as` otherwise."""
        value = self.arguments.get(name)
        if isinstance(value, str):
            if not value:
                return None
            try:
                decoded: object = json.loads(value)
            except json.JSONDecodeError as error:
                raise SlackRefusal(refused_as) from error
            return decoded
        return value


def read_call(method: str, content_type: str, authorization: str, query: str, body: bytes) -> Call:
    """The call in an HTTP request; refuses a body that cannot be read."""
    arguments: Payload = dict(parse_qsl(query, keep_blank_values=True))
    if content_type.startswith("application/json"):
        try:
            decoded = json.loads(body or b"{}")
        except json.JSONDecodeError as error:
            raise SlackRefusal("invalid_json") from error
        if not isinstance(decoded, dict):
            raise SlackRefusal("json_not_object")
        arguments |= decoded
    elif content_type.startswith("application/x-www-form-urlencoded") or not content_type:
        arguments |= dict(parse_qsl(body.decode(), keep_blank_values=True))
    else:
        raise SlackRefusal("invalid_form_data")
    token = arguments.pop("token", None)
    if authorization.startswith("Bearer "):
        token = authorization.removeprefix("Bearer ").strip()
    return Call(method, token, arguments)


def for_the_log(call: Call) -> Payload:
    shown = dict(call.arguments)
    for name in _JSON_ARGUMENTS:
        if isinstance(value := shown.get(name), str):
            try:
                shown[name] = json.loads(value)
            except json.JSONDecodeError:
                continue
    return shown


Answer = Callable[[World, Call], Payload]


class Method(NamedTuple):
    """One Web API method; `scope` is what the app's manifest must ask for, none when no scope is needed."""

    answer: Answer
    scope: str | None = None
    bearer: Literal["bot", "app", "any"] = "bot"
