"""Signed HTTP: the same deliveries at a request URL, with Slack's signature."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import httpx
import pytest
from slack_bolt import App
from slack_bolt.adapter.wsgi import SlackRequestHandler
from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as open_socket
from websockets.typing import Origin

from bot.workspace import Workspace
from bot.workspace.signed_http import signature
from tests.workspace.asking import ONCALL
from tests.workspace.blocks import actions, button
from tests.workspace.conftest import eventually


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
    seen: list[str] = []

    @app.command("/waterline")
    def command(ack: Any) -> None:
        ack("by HTTP")

    @app.action("go")
    def go(ack: Any, body: Any) -> None:
        ack()
        seen.append(body["actions"][0]["value"])

    @app.event("app_home_opened")
    def home(event: Any) -> None:
        client.views_publish(user_id=event["user"], view={"type": "home", "blocks": [actions(button("B", "b"))]})

    with listening(app) as url:
        ws.deliver_to(url)
        ana = ws.person("ana")
        typed = ana.types("/waterline status")
        client.chat_postMessage(channel=ONCALL, text="x", blocks=[actions(button("Go", "go", value="7"))])
        clicked = ana.clicks("Go")
        eventually(lambda: bool(seen))
        buttons = ana.home().buttons

    assert (typed.outcome, clicked.outcome) == ("acked", "acked")
    assert "by HTTP" in [m.plain for m in ana.messages()]
    assert seen == ["7"]
    assert buttons == ("B",)


def test_an_app_with_another_secret_refuses(ws: Workspace) -> None:
    """A wrong signature is answered 401: the person sees that it failed."""
    app = App(client=WebClient(ws.bot_token, base_url=ws.api_url), signing_secret="another")

    with listening(app) as url:
        ws.deliver_to(url)
        outcome = ws.person("ana").types("/waterline status")

    assert outcome.outcome == "refused"
    assert "dispatch_failed" in ws.person("ana").last_message().plain


def test_a_request_url_that_nobody_serves_is_unreachable(ws: Workspace) -> None:
    """A closed port is a failed dispatch, not a crash."""
    with listening(App(client=WebClient(ws.bot_token, base_url=ws.api_url), signing_secret="x")) as url:
        pass
    ws.deliver_to(url)

    assert ws.person("ana").types("/waterline status").outcome == "unreachable"


def test_the_signature_is_slack_s_own() -> None:
    """The SDK's verifier accepts it, and refuses it for another body."""
    verifier = SignatureVerifier("secret")
    signed = signature("secret", "1763730000", "payload=1")

    assert signed == verifier.generate_signature(timestamp="1763730000", body="payload=1")
    assert signed != verifier.generate_signature(timestamp="1763730000", body="payload=2")


def test_the_page_s_api_takes_only_json(ws: Workspace) -> None:
    """A form that another site's page could post is refused, for people's acts and for faults."""
    for path in ("/_page/say", "/_control/faults/drop-sockets"):
        answer = httpx.post(ws.url + path, data={"person": "ana"}, trust_env=False)

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
