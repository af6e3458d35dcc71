"""Triggers as a person's command gives them, and the code of a refusal."""

from collections.abc import Callable
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk.errors import SlackApiError

from bot.workspace import Actor
from tests.workspace.conftest import Connect, eventually

Opened = Callable[..., str]


@pytest.fixture
def triggers(app: App, connect: Connect, ana: Actor) -> Callable[[], str]:
    """A fresh trigger of Ana's, each time it is called."""
    seen: list[str] = []

    @app.command("/waterline")
    def command(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["trigger_id"])

    connect()

    def fresh() -> str:
        before = len(seen)
        ana.types("/waterline open")
        eventually(lambda: len(seen) > before)
        return seen[-1]

    return fresh


def code(call: Any, **arguments: Any) -> str:
    """The error code of a refused call."""
    with pytest.raises(SlackApiError) as refused:
        call(**arguments)
    return str(refused.value.response["error"])
