"""response_url: five posts within half an hour, for one person or for all."""

from datetime import timedelta
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.webhook import WebhookClient

from bot.workspace import Actor, Workspace
from tests.workspace.asking import ONCALL
from tests.workspace.blocks import actions, button, section
from tests.workspace.conftest import Connect, eventually


@pytest.fixture
def clicked(app: App, client: WebClient, connect: Connect, ana: Actor) -> WebhookClient:
    """The response_url of a click of Ana's on a message of the bot's."""
    urls: list[str] = []

    @app.action("go")
    def go(ack: Any, body: Any) -> None:
        ack()
        urls.append(body["response_url"])

    connect()
    client.chat_postMessage(channel=ONCALL, text="original", blocks=[actions(button("Go", "go"))])
    ana.clicks("Go")
    eventually(lambda: bool(urls))
    return WebhookClient(urls[0])


def test_an_answer_is_only_for_the_person_who_clicked(clicked: WebhookClient, ana: Actor, ben: Actor) -> None:
    """Ephemeral unless it says in_channel."""
    clicked.send(text="for you")
    clicked.send(text="for all", response_type="in_channel")

    assert [m.plain for m in ana.messages()] == ["Go", "for you", "for all"]
    assert [m.plain for m in ben.messages()] == ["Go", "for all"]


def test_the_original_can_be_replaced_and_deleted(clicked: WebhookClient, ana: Actor) -> None:
    """The message that was clicked changes in place, or goes."""
    clicked.send(text="done", blocks=[section("decided")], replace_original=True)
    replaced = ana.messages()
    clicked.send(delete_original=True)

    assert [m.plain for m in replaced] == ["decided"]
    assert ana.messages() == []


def test_a_url_is_good_for_five_posts(clicked: WebhookClient) -> None:
    """The sixth is refused."""
    answers = [clicked.send(text=str(number)) for number in range(6)]

    assert [answer.status_code for answer in answers] == [200, 200, 200, 200, 200, 404]
    assert answers[-1].body == "used_url"


def test_a_url_is_good_for_half_an_hour(ws: Workspace, clicked: WebhookClient) -> None:
    """Later it has expired."""
    ws.faults.time_passes(timedelta(minutes=29))
    in_time = clicked.send(text="in time")
    ws.faults.time_passes(timedelta(minutes=2))

    late = clicked.send(text="late")

    assert (in_time.status_code, late.status_code) == (200, 404)
    assert late.body == "expired_url"


def test_malformed_answers_are_refused(clicked: WebhookClient, ana: Actor) -> None:
    """Blocks are checked here as strictly as in chat.postMessage."""
    answer = clicked.send(text="x", blocks=[{"type": "hologram"}])

    assert answer.status_code == 400
    assert answer.body.startswith("invalid_blocks")
    assert [m.plain for m in ana.messages()] == ["Go"]
