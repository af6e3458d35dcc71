"""Socket Mode as Slack runs it: one connection per envelope, and three seconds to acknowledge it."""

import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from slack_bolt import App
from slack_sdk import WebClient
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as open_socket

from bot.workspace import Actor, Workspace
from tests.workspace.asking import ask
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
    seen: list[dict[str, Any]] = []

    @app.action("approve")
    def approve(ack: Any, body: Any) -> None:
        ack()
        seen.append(body)

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


def test_an_unhandled_button_fails_for_the_person(
    ws: Workspace, app: App, client: WebClient, connect: Connect, ana: Actor
) -> None:
    """Without an acknowledgement in time the click has failed, as the warning triangle says."""
    ws.faults.sets_rules(ack_s=0.3)
    connect()
    ask(client, "Approve")

    outcome = ana.clicks("Approve")

    assert outcome.outcome == "timed-out"


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


def test_a_dropped_connection_comes_back(ws: Workspace, app: App, connect: Connect, ana: Actor) -> None:
    """After a reset the client opens a new connection by itself as soon as it can, and commands arrive again."""

    @app.command("/waterline")
    def command(ack: Any) -> None:
        ack("here")

    connect(0.5)
    ws.faults.refuses_connections()
    assert ws.faults.drops_sockets() == 1
    assert ana.types("/waterline one").outcome == "unreachable"

    ws.faults.disarms()
    eventually(lambda: ws.connected == 1)

    assert ana.types("/waterline two").outcome == "acked"


def test_a_refresh_leaves_no_gap(ws: Workspace, app: App, connect: Connect, ana: Actor) -> None:
    """Slack announces the end of a connection; the client has a new one at once."""

    @app.command("/waterline")
    def command(ack: Any) -> None:
        ack("here")

    connect(5)
    assert ws.faults.disconnects("refresh_requested") == 1

    eventually(lambda: ws.connected == 1)

    assert ana.types("/waterline two").outcome == "acked"
