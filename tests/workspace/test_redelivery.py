"""What Slack delivers again: events until they are acknowledged, clicks only when a fault asks for it."""

from collections import Counter
from datetime import timedelta
from typing import Any

from slack_bolt import App
from slack_sdk import WebClient

from bot.workspace import Actor, Workspace
from tests.workspace.asking import ask
from tests.workspace.conftest import Connect, eventually


def test_an_event_is_repeated_until_it_is_acknowledged() -> None:
    """At once, after a minute, after five: the same event id, with the number of the attempt."""
    with Workspace().serve() as ws:
        ws.person("ana").says("@waterline nobody listens")
        eventually(lambda: len(ws.wire("delivery")) == 2)
        ws.faults.time_passes(timedelta(minutes=1))
        eventually(lambda: len(ws.wire("delivery")) == 3)
        ws.faults.time_passes(timedelta(minutes=5))
        eventually(lambda: len(ws.wire("delivery")) == 4)

        attempts = ws.wire("delivery", "event app_mention")

    assert [entry.sent["retry_attempt"] for entry in attempts] == [0, 1, 2, 3]
    assert len({entry.sent["payload"]["event_id"] for entry in attempts}) == 1


def test_an_acknowledged_event_comes_once_and_a_click_is_never_repeated(
    ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor
) -> None:
    """Only events are retried, and only until the first acknowledgement."""
    opened: list[str] = []

    @app.event("app_home_opened")
    def home(event: Any) -> None:
        opened.append(event["user"])
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [{"type": "divider"}]})

    connect()
    ask(client, "Ignored")

    ana.home()
    eventually(lambda: bool(ws.wire("delivery", "event app_home_opened")))
    ws.faults.sets_rules(ack_s=0.2)
    ana.clicks("Ignored")
    ws.faults.time_passes(timedelta(minutes=10))
    ana.clicks("Ignored")  # is over after anything that the ten minutes would have repeated

    names = Counter(entry.name for entry in ws.wire("delivery"))
    assert names == {"event app_home_opened": 1, "block_actions": 2}


def test_a_redelivery_has_the_same_payload(
    ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor
) -> None:
    """Delivered again on demand, or twice from the start, a click is the same click."""
    seen: list[tuple[str, str]] = []

    @app.action("approve")
    def approve(ack: Any, body: Any) -> None:
        ack()
        seen.append((body["trigger_id"], body["actions"][0]["action_ts"]))

    connect()
    ask(client, "Approve")

    ana.clicks("Approve")
    ws.faults.redelivers()
    eventually(lambda: len(seen) == 2)
    ws.faults.doubles_deliveries()
    ana.clicks("Approve")
    eventually(lambda: len(seen) == 4)

    assert sorted(Counter(seen).values()) == [2, 2]


def test_a_double_click_is_two_clicks(ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor) -> None:
    """Each of them has a trigger and a time of its own."""
    seen: list[tuple[str, str]] = []

    @app.action("approve")
    def approve(ack: Any, body: Any) -> None:
        ack()
        seen.append((body["trigger_id"], body["actions"][0]["action_ts"]))

    connect()
    ask(client, "Approve")
    ws.faults.doubles_clicks()

    ana.clicks("Approve")
    eventually(lambda: len(seen) == 2)

    assert len({trigger for trigger, _ in seen}) == 2
    assert len({at for _, at in seen}) == 2
