"""What the tests of the workspace ask of it: messages with buttons, what was clicked, and why a call was refused."""

from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from tests.workspace.blocks import actions, button

ONCALL, GENERAL = "C0ONCALL01", "C0GENERAL4"


def ask(client: WebClient, *labels: str) -> str:
    """Post a message with buttons; answers its time stamp."""
    row = actions(*(button(label, label.lower(), value=f"id-{label}") for label in labels))
    return str(client.chat_postMessage(channel=ONCALL, text="choose", blocks=[row])["ts"])


def clicked(app: App, action_id: str) -> list[dict[str, Any]]:
    """The payloads of the clicks on this button, each acknowledged as it comes."""
    seen: list[dict[str, Any]] = []

    @app.action(action_id)
    def click(ack: Any, body: Any) -> None:
        ack()
        seen.append(body)

    return seen


def refusal(call: Any, **arguments: Any) -> str:
    """The error code of a call that must be refused."""
    with pytest.raises(SlackApiError) as refused:
        call(**arguments)
    return str(refused.value.response["error"])
