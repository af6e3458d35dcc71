"""Deliveries as Slack makes them: Socket Mode, signed HTTP, again, and with faults on demand."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import httpx
import pytest
from slack_bolt import App
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as open_socket
from websockets.typing import Origin

from bot.workspace import Actor, NotShown, Workspace
from tests.workspace.asking import ONCALL, ask, clicked, refusal
from tests.workspace.blocks import actions, button
from tests.workspace.conftest import Connect, eventually


def test_a_command_reaches_the_app_and_its_ack_answers(app: App, connect: Connect, ana: Actor, ben: Actor) -> None:
    """What the ack carries is shown to the person who typed, and to nobody else; names arrive as marks."""
    seen: list[dict[str, Any]] = []

    @app.command("/waterline")
    def command(ack: Any, body: Any) -> None:
        seen.append(body)
        ack("opening")

    connect()

    outcome = ana.types("/waterline open @ben #general @orders-approvers")

    assert outcome.outcome == "acked"
    marks = "<@U0BEN00002|ben> <#C0GENERAL4|general> <!subteam^S0APPROVE1|@orders-approvers>"
    assert seen[0]["text"] == f"open {marks}"
    assert [m.plain for m in ana.messages()] == ["opening"]
    assert ben.messages() == []


def test_a_click_carries_what_was_clicked(app: App, client: WebClient, connect: Connect, ana: Actor) -> None:
    """The payload names the person, the message, the value; the person sees how fast it was acknowledged."""
    seen = clicked(app, "approve")
    connect()
    ts = ask(client, "Approve", "Reject")

    began = time.perf_counter()
    outcome = ana.clicks("Approve")
    took_ms = (time.perf_counter() - began) * 1000

    eventually(lambda: bool(seen))
    assert outcome.outcome == "acked"
    assert 0 < outcome.took_ms < took_ms
    assert (seen[0]["user"]["id"], seen[0]["container"]["message_ts"]) == ("U0ANA00001", ts)
    assert seen[0]["actions"][0]["value"] == "id-Approve"


def test_a_late_ack_of_a_command_is_an_operation_timeout(ws: Workspace, app: App, connect: Connect, ana: Actor) -> None:
    """The person reads Slack's own words; the ack that comes later changes nothing and is logged as late."""
    ws.faults.sets_rules(ack_s=0.2)

    @app.command("/waterline")
    def command(ack: Any) -> None:
        time.sleep(0.5)
        ack("too late")

    connect()

    outcome = ana.types("/waterline status")

    assert outcome.outcome == "timed-out"
    assert '/waterline failed with the error "operation_timeout"' in ana.last_message().plain
    eventually(lambda: any(entry.error == "too_late" for entry in ws.wire("ack")))
    assert len(ana.messages()) == 1


def test_who_has_died_is_not_waited_for_as_long_as_who_is_slow(ws: Workspace, ana: Actor) -> None:
    """An app ends with its connection before it has acknowledged: that took Slack's own time, not a busy computer's."""
    ws.faults.sets_rules(ack_s=60)
    with ThreadPoolExecutor() as aside:
        with open_socket(url_of(ws)) as app:
            app.recv()
            typed = aside.submit(ana.types, "/waterline status")
            app.recv()

        outcome = typed.result()

    assert outcome.outcome == "timed-out"
    assert outcome.took_ms < 30_000


def test_what_came_over_a_connection_that_ended_is_acknowledged_over_the_next(ws: Workspace, ana: Actor) -> None:
    """As Slack's own client does, which sends over the connection that it has."""
    with ThreadPoolExecutor() as aside:
        with open_socket(url_of(ws)) as app:
            app.recv()
            typed = aside.submit(ana.types, "/waterline status")
            envelope = json.loads(app.recv())
        with open_socket(url_of(ws)) as app:
            app.send(json.dumps({"envelope_id": envelope["envelope_id"]}))

            outcome = typed.result()

    assert outcome.outcome == "acked"


def url_of(ws: Workspace) -> str:
    """Where an app connects, once."""
    return str(WebClient(ws.app_token, base_url=ws.api_url).apps_connections_open(app_token=ws.app_token)["url"])


def test_without_a_connection_a_command_fails_at_once(ana: Actor) -> None:
    """Nobody listens: Slack says so instead of waiting."""
    outcome = ana.types("/waterline status")

    assert outcome.outcome == "unreachable"
    assert "dispatch_failed" in ana.last_message().plain


def test_each_envelope_goes_to_one_connection(ws: Workspace, app: App, connect: Connect, ana: Actor) -> None:
    """Two connections share the work: nothing arrives twice."""
    seen: list[str] = []

    @app.command("/waterline")
    def command(ack: Any, body: Any) -> None:
        seen.append(body["text"])
        ack()

    connect()
    connect()

    for number in range(6):
        ana.types(f"/waterline {number}")

    assert ws.connected == 2
    assert Counter(str(number) for number in range(6)) == Counter(seen)


def test_a_connection_url_is_good_once(ws: Workspace) -> None:
    """A second connection with the same ticket is refused."""
    url = url_of(ws)

    with open_socket(url) as first:
        hello = first.recv()
        with pytest.raises(InvalidStatus) as refused, open_socket(url):
            pass

    assert '"hello"' in str(hello)
    assert refused.value.response.status_code == 403


class _Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Says nothing."""


@contextmanager
def listening(app: App) -> Iterator[str]:
    """The request URL of a Bolt app while it is served."""
    handler = SlackRequestHandler(app, path="/slack/events")
    server: WSGIServer = make_server("127.0.0.1", 0, handler, handler_class=_Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/slack/events"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_commands_clicks_and_events_arrive_signed(ws: Workspace) -> None:
    """A Bolt app that checks signatures takes all three kinds, and its answers are shown."""
    client = WebClient(ws.bot_token, base_url=ws.api_url)
    app = App(client=client, signing_secret=ws.signing_secret)
    seen = clicked(app, "go")

    @app.command("/waterline")
    def command(ack: Any) -> None:
        ack("by HTTP")

    @app.event("app_home_opened")
    def home(event: Any) -> None:
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [actions(button("B", "b"))]})

    with listening(app) as url:
        ws.deliver_to(url)
        ana = ws.person("ana")
        typed = ana.types("/waterline status")
        client.chat_postMessage(channel=ONCALL, text="x", blocks=[actions(button("Go", "go", value="7"))])
        outcome = ana.clicks("Go")
        eventually(lambda: bool(seen))
        buttons = ana.home().buttons

    assert (typed.outcome, outcome.outcome) == ("acked", "acked")
    assert "by HTTP" in [m.plain for m in ana.messages()]
    assert [body["actions"][0]["value"] for body in seen] == ["7"]
    assert buttons == ("B",)


def test_the_page_s_api_takes_only_json(ws: Workspace) -> None:
    """A form that another site's page could post is refused."""
    answer = httpx.post(f"{ws.url}/_page/say", data={"person": "ana"}, trust_env=False)

    assert answer.status_code == 415


def test_other_sites_cannot_reach_the_page(ws: Workspace) -> None:
    """A name that is not this machine's is refused, and so is a live connection from another site's script."""
    rebound = httpx.get(f"{ws.url}/_page/overview?as=ana", headers={"Host": "evil.example"}, trust_env=False)

    with (
        pytest.raises(InvalidStatus),
        open_socket(f"ws{ws.url[4:]}/_page/live?as=ana", origin=Origin("http://evil.example")),
    ):
        pass

    assert rebound.status_code == 400


def test_a_taken_port_is_named(ws: Workspace) -> None:
    """A second workspace on the same port says which port is taken and what to do."""
    port = int(ws.url.rpartition(":")[2])

    with pytest.raises(OSError, match=f"{port}: expected a free port.*choose another"), Workspace().serve(port=port):
        pass


def test_an_event_is_repeated_until_it_is_acknowledged() -> None:
    """At once, after a minute, after five: the same event id, with the number of the attempt."""
    with Workspace().serve() as ws:
        with pytest.raises(NotShown):
            ws.person("ana").home(within_s=0)
        eventually(lambda: len(ws.wire("delivery")) == 2)
        ws.faults.time_passes(timedelta(minutes=1))
        eventually(lambda: len(ws.wire("delivery")) == 3)
        ws.faults.time_passes(timedelta(minutes=5))
        eventually(lambda: len(ws.wire("delivery")) == 4)

        attempts = ws.wire("delivery", "event app_home_opened")

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
    seen = clicked(app, "approve")
    connect()
    ask(client, "Approve")

    ana.clicks("Approve")
    ws.faults.redelivers()
    eventually(lambda: len(seen) == 2)
    ws.faults.doubles_deliveries()
    ana.clicks("Approve")
    eventually(lambda: len(seen) == 4)

    assert sorted(Counter(map(_trigger_and_time, seen)).values()) == [2, 2]


def _trigger_and_time(body: dict[str, Any]) -> tuple[str, str]:
    return body["trigger_id"], body["actions"][0]["action_ts"]


def test_a_double_click_is_two_clicks(ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor) -> None:
    """Each of them has a trigger and a time of its own."""
    seen = clicked(app, "approve")
    connect()
    ask(client, "Approve")
    ws.faults.doubles_clicks()

    ana.clicks("Approve")
    eventually(lambda: len(seen) == 2)

    assert [len(set(each)) for each in zip(*map(_trigger_and_time, seen), strict=True)] == [2, 2]


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


def test_places_and_tokens_can_be_taken_away(ws: Workspace, client: WebClient) -> None:
    """Archived, removed from, limited, revoked: each has its own code; `disarms` gives the token back."""
    errors = []

    def post(channel: str) -> None:
        errors.append(refusal(client.chat_postMessage, channel=channel, text="x"))

    ws.faults.archives("orders-oncall")
    post(ONCALL)
    ws.faults.removes("revenue-analytics")
    post("C0REVENUE2")
    ws.faults.limits("fraud-ml", "thread_only")
    post("C0FRAUDML3")
    ws.faults.revokes_token()
    post("C0FRAUDML3")
    ws.faults.disarms()

    limited = "restricted_action_thread_only_channel"
    assert errors == ["is_archived", "not_in_channel", limited, "token_revoked"]
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


def test_the_wire_keeps_everything_but_tokens(
    ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor
) -> None:
    """Calls and deliveries are kept in order; no token is among them."""

    @app.command("/waterline")
    def command(ack: Any) -> None:
        ack()

    connect()
    ana.types("/waterline status")
    client.chat_postMessage(channel=ONCALL, text="posted")

    wire = ws.wire()

    kinds = [(entry.kind, entry.name) for entry in wire]
    expected = [("delivery", "/waterline"), ("api", "chat.postMessage")]
    assert expected == [kind for kind in kinds if kind in expected]
    assert not any(token in str(wire) for token in (ws.bot_token, ws.app_token))
