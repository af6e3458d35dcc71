"""Slack misbehaves on demand, and everything that passed the wire is kept."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.http_retry.builtin_handlers import RateLimitErrorRetryHandler

from bot.workspace import Actor, Rules, Workspace
from tests.workspace.conftest import Connect

ONCALL, GENERAL = "C0ONCALL01", "C0GENERAL4"


def refusal_of(client: WebClient, channel: str) -> str:
    """The error code of a post that must be refused."""
    with pytest.raises(SlackApiError) as error:
        client.chat_postMessage(channel=channel, text="x")
    return str(error.value.response["error"])


def test_a_rate_limited_call_is_made_again_by_the_sdk(ws: Workspace, client: WebClient, ana: Actor) -> None:
    """429 carries Retry-After in seconds; the SDK's handler waits that long and succeeds."""
    client.retry_handlers.append(RateLimitErrorRetryHandler(max_retry_count=1))
    ws.faults.ratelimits("chat.postMessage", retry_after_s=1)
    started = time.monotonic()

    client.chat_postMessage(channel=ONCALL, text="patient")

    assert time.monotonic() - started >= 1
    assert [m.plain for m in ana.messages()] == ["patient"]


def test_only_the_named_method_and_number_of_calls_is_spoilt(ws: Workspace, client: WebClient) -> None:
    """Two calls of one method fail; other methods and the third call do not."""
    ws.faults.fails("chat.postMessage", "internal_error", times=2)
    outcomes = []

    for _ in range(3):
        assert client.auth_test()["ok"]
        try:
            client.chat_postMessage(channel=ONCALL, text="x")
            outcomes.append("ok")
        except SlackApiError as error:
            outcomes.append(error.response["error"])

    assert outcomes == ["internal_error", "internal_error", "ok"]


def test_a_lost_answer_leaves_its_effect(ws: Workspace, client: WebClient, ana: Actor) -> None:
    """The call fails for the bot and has happened for the people."""
    ws.faults.fails_after_effect("chat.postMessage")

    with pytest.raises(SlackApiError, match="internal_error"):
        client.chat_postMessage(channel=ONCALL, text="sent?")

    assert [m.plain for m in ana.messages()] == ["sent?"]


def test_a_held_answer_outlasts_the_bot_s_patience(ws: Workspace, ana: Actor) -> None:
    """The message is there at once; the answer comes after the client has given up."""
    hasty = WebClient(ws.bot_token, base_url=ws.api_url, timeout=1)
    ws.faults.holds("chat.postMessage", seconds=60)

    with pytest.raises(TimeoutError):
        hasty.chat_postMessage(channel=ONCALL, text="slow")

    ana.waits_for("slow")
    ws.faults.disarms()
    assert [m.plain for m in ana.messages()] == ["slow"]


def test_a_held_answer_comes_when_everything_works_again(ws: Workspace, client: WebClient, ana: Actor) -> None:
    """A test says when, instead of guessing how long it takes until then."""
    ws.faults.holds("chat.postMessage", seconds=3600)

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(client.chat_postMessage, channel=ONCALL, text="held")
        ana.waits_for("held")
        is_held = not answer.done()
        ws.faults.disarms()

        assert answer.result()["ok"]
    assert is_held


def test_posts_can_be_paced_as_slack_paces_them() -> None:
    """Beyond the rate of a channel comes 429; another channel is not concerned."""
    with Workspace(rules=Rules(posts_per_minute=2)).serve() as ws:
        client = WebClient(ws.bot_token, base_url=ws.api_url)
        client.chat_postMessage(channel=ONCALL, text="1")
        client.chat_postMessage(channel=ONCALL, text="2")

        with pytest.raises(SlackApiError) as refused:
            client.chat_postMessage(channel=ONCALL, text="3")

        assert refused.value.response.status_code == 429
        assert int(refused.value.response.headers["Retry-After"]) > 0
        assert client.chat_postMessage(channel="C0REVENUE2", text="1")["ok"]


def test_places_and_tokens_can_be_taken_away(ws: Workspace, client: WebClient) -> None:
    """Archived, removed from, revoked: each has its own code; `disarms` gives the token back."""
    errors = []

    ws.faults.archives("orders-oncall")
    errors.append(refusal_of(client, ONCALL))
    ws.faults.removes("revenue-analytics")
    errors.append(refusal_of(client, "C0REVENUE2"))
    ws.faults.revokes_token()
    errors.append(refusal_of(client, "C0FRAUDML3"))
    ws.faults.disarms()

    assert errors == ["is_archived", "not_in_channel", "token_revoked"]
    assert client.auth_test()["ok"]


def test_a_message_can_vanish_behind_the_bot_s_back(ws: Workspace, client: WebClient, ana: Actor) -> None:
    """An update of a message that somebody deleted is refused; an edit by somebody is seen."""
    gone = client.chat_postMessage(channel=ONCALL, text="gone")["ts"]
    edited = client.chat_postMessage(channel=ONCALL, text="before")["ts"]

    ws.faults.deletes("orders-oncall", gone)
    ws.faults.edits("orders-oncall", edited, "after")

    with pytest.raises(SlackApiError, match="message_not_found"):
        client.chat_update(channel=ONCALL, ts=gone, text="x")
    assert [m.plain for m in ana.messages()] == ["after"]


def test_connections_can_be_refused(ws: Workspace) -> None:
    """apps.connections.open fails until all is well again."""
    app_client = WebClient(ws.app_token, base_url=ws.api_url)
    ws.faults.refuses_connections()

    with pytest.raises(SlackApiError, match="internal_error"):
        app_client.apps_connections_open(app_token=ws.app_token)

    ws.faults.disarms()
    assert app_client.apps_connections_open(app_token=ws.app_token)["url"].startswith("ws://127.0.0.1")


def test_the_wire_keeps_everything_but_tokens(
    ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor
) -> None:
    """Calls, deliveries and faults are kept in order as JSON lines; no token is among them."""

    @app.command("/waterline")
    def command(ack: Any, respond: Any) -> None:
        ack()

    connect()
    ana.types("/waterline status")
    client.chat_postMessage(channel=ONCALL, text="posted")
    ws.faults.ratelimits()

    lines = [json.loads(line) for line in ws.wire_jsonl().splitlines()]

    kinds = [(line["kind"], line["name"]) for line in lines]
    expected = [("delivery", "/waterline"), ("api", "chat.postMessage"), ("fault", "ratelimited")]
    assert expected == [kind for kind in kinds if kind in expected]
    assert ws.bot_token not in ws.wire_jsonl()
    assert ws.app_token not in ws.wire_jsonl()
