"""A message with buttons in the channel of those on call."""

from slack_sdk import WebClient

from tests.workspace.blocks import actions, button

ONCALL = "C0ONCALL01"


def ask(client: WebClient, *labels: str) -> str:
    """Post a message with buttons; answers its time stamp."""
    row = actions(*(button(label, label.lower(), value=f"id-{label}") for label in labels))
    return str(client.chat_postMessage(channel=ONCALL, text="choose", blocks=[row])["ts"])
