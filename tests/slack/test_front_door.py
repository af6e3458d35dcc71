"""What is taken while the rest of the bot is still being built, and what is not."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from slack_bolt import BoltRequest
from slack_sdk import WebClient

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql.store import Store, open_store
from bot.ports import Post
from bot.slack.gateway import SlackGateway
from bot.workspace import Workspace
from tests.slack.people import eventually

CLICK = {
    "type": "block_actions", "channel": {"id": "C0ONCALL01"}, "trigger_id": "1.2.a",
    "user": {"id": "U0ANA00001", "team_id": "T0STREAMS01"},
    "actions": [{"action_id": "run", "block_id": "b", "value": "wl-1/ledger/s", "action_ts": "1.1", "type": "button"}],
}  # fmt: skip
SAID: dict[str, Any] = {
    "type": "event_callback", "event_id": "Ev01",
    "event": {"type": "message", "channel": "C0PEOPLE01", "user": "U0ANA00001", "text": "lunch?", "ts": "1.1"},
}  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """The record."""
    with closing(open_store(f"sqlite:///{tmp_path / 'record.db'}")) as opened:
        yield opened


@pytest.fixture
def door(store: Store) -> SlackGateway:
    """One that leads nowhere yet."""
    return SlackGateway(
        WebClient("xoxb-1", base_url="http://127.0.0.1:9/"),
        store.inbox,
        store.outbox,
        SystemClock(),
        signing_secret=None,
    )


def answered(door: SlackGateway, body: dict[str, Any]) -> int:
    """With which status; Socket Mode acknowledges 200 only, and Slack brings an event again that was not."""
    return int(door.app.dispatch(BoltRequest(body=json.dumps(body), mode="socket_mode")).status)


def stored(store: Store) -> int:
    """How many deliveries wait."""
    found = 0
    while store.inbox.claim(SystemClock().now()) is not None:
        found += 1
    return found


def test_a_click_is_kept_before_anybody_can_work_on_it(door: SlackGateway, store: Store) -> None:
    """Slack brings a click once."""
    assert answered(door, CLICK) == 200
    assert stored(store) == 1


def test_whoever_clicked_is_told_when_the_form_cannot_reach_slack(
    door: SlackGateway, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The network is away at that moment: the answer waits in the outbox until it is back."""
    monkeypatch.setattr(door.forms.own, "_own", ("T0STREAMS01",))
    [action] = CLICK["actions"]  # type: ignore[misc]
    note = {**CLICK, "actions": [{**action, "action_id": "add-note", "value": "wl-1"}]}

    answered(door, note)
    answered(door, note)

    told: list[Post] = []
    eventually(lambda: bool(told) or _claims(store, told))
    assert "Could not open the form. Slack could not be reached" in (told[0].text or "")
    assert (told[0].user, told[0].channel) == ("U0ANA00001", "C0ONCALL01")
    assert not _claims(store, told), "one answer for one click"


def _claims(store: Store, told: list[Post]) -> bool:
    post = store.outbox.claim(SystemClock().now())
    told += [post] if post is not None else []
    return post is not None


def test_what_people_say_is_not_kept(door: SlackGateway, store: Store) -> None:
    """Also where the app is subscribed to more than the manifest asks for."""
    assert answered(door, SAID) == 200
    assert stored(store) == 0


def test_a_closed_door_takes_no_requests(door: SlackGateway) -> None:
    """Before anything behind it ends: what is acknowledged is worked on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    door.listen("127.0.0.1", port)
    eventually(lambda: is_open(port))

    door.close()
    door.close()

    assert not is_open(port)


def is_open(port: int) -> bool:
    """Whether somebody takes connections there."""
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


def test_it_says_whether_slack_is_connected(door: SlackGateway) -> None:
    """A probe asks at any time: before, while, and after Slack is gone."""
    before = door.trouble()
    with Workspace().serve() as workspace:
        door.connect(workspace.app_token, workspace.api_url)
        eventually(lambda: door.trouble() is None)
    try:
        eventually(lambda: door.trouble() is not None)
    finally:
        door.close()

    assert before == "The socket to Slack is not connected."


def test_a_quiet_socket_is_a_good_one_and_one_that_answers_no_ping_is_not(door: SlackGateway) -> None:
    """Nobody clicks for seconds; then the other side hangs and closes nothing."""

    def hangs(_socket: object) -> None:
        time.sleep(8)

    with Workspace().serve() as workspace:
        door.connect(workspace.app_token, workspace.api_url)
        eventually(lambda: door.trouble() is None)
        time.sleep(3)
        eventually(lambda: door.trouble() is None and (door.pong_age_s() or 0.0) < 3)
        workspace.world.sockets.abort = hangs
        hanging = threading.Thread(target=workspace.faults.drops_sockets)
        hanging.start()
        eventually(lambda: door.trouble() is not None)
        hanging.join()
        eventually(lambda: door.trouble() is None)
        door.close()
