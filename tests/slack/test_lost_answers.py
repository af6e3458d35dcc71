"""Slack has taken a message, and its answer ends in the middle, or is one that nobody can read."""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from http.client import HTTPException, IncompleteRead
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest
from slack_sdk import WebClient

from bot.adapters.journal_sql import Store, open_store
from bot.domain.errors import CouldNotLook
from bot.ports import LONGEST_WAIT, Post
from bot.slack.directory import SlackDirectory
from bot.slack.front_door import Arrivals
from bot.slack.sender import Sender
from bot.slack.sent_before import answer_was_lost, file_is_there, find_sent
from tests.orders_table import NINE
from tests.slack.people import eventually

CUT = b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{"ok":true,'


def whole(answer: dict[str, object], status: str = "200 OK", headers: str = "") -> bytes:
    """An answer of Slack's."""
    body = json.dumps(answer)
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@contextmanager
def slack_that_says(*answers: bytes) -> Iterator[tuple[WebClient, list[str]]]:
    """One answer after the other, the last one for ever; and which methods were asked."""
    left, asked = list(answers), list[str]()

    class Door(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path.rsplit("/", 1)[1])
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.wfile.write(left.pop(0) if len(left) > 1 else left[0])
            self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield WebClient(token="xoxb-1", base_url=f"http://127.0.0.1:{server.server_port}/", retry_handlers=[]), asked
    finally:
        server.shutdown()
        server.server_close()


@dataclass
class Now:
    """A clock that is set by hand."""

    at: datetime = NINE

    def now(self) -> datetime:
        """See the port."""
        return self.at


@dataclass
class Scene:
    """A record with one message to be sent."""

    store: Store
    clock: Now = field(default_factory=Now)
    ended: list[str | None] = field(default_factory=list)

    def sender(self, client: WebClient) -> Sender:
        """What sends its message."""
        nothing = SimpleNamespace(store=None, records=SimpleNamespace(html=None, markdown=None, json=None))
        return Sender(
            client, self.store.outbox, nothing, self.clock, Arrivals(),  # type: ignore[arg-type]
            pace=timedelta(seconds=1), overtaken=lambda _post: None,
            on_end=lambda _post, problem, _may_mend: self.ended.append(problem),
        )  # fmt: skip

    def sends(self, client: WebClient) -> Post:
        """One try, and what the record says afterwards."""
        sender = self.sender(client)
        post = self.store.outbox.claim(self.clock.now())
        assert post is not None
        sender._send(post)
        found = self.store.outbox.find("x/y")
        assert found is not None
        return found


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    """It waits to be sent."""
    with closing(open_store(f"sqlite:///{tmp_path}/record.db")) as store:
        store.outbox.put(Post(key="x/y", incident=None, channel="C1", text="hello"))
        yield Scene(store)


def test_a_message_whose_answer_was_cut_is_looked_for_and_not_lost(scene: Scene) -> None:
    """Slack has it: it is found under its key, and counts as sent."""
    there = {"ts": "1.1", "metadata": {"event_payload": {"key": "x/y"}}}
    with slack_that_says(CUT, whole({"ok": True, "messages": [there]}), whole({"ok": True, "ts": "1.1"})) as (
        client, asked,
    ):  # fmt: skip
        first = scene.sends(client)
        scene.clock.at += timedelta(minutes=1)
        second = scene.sends(client)

    assert (first.state, first.tries) == ("queued", 1)
    assert (second.state, second.ts, second.problem) == ("sent", "1.1", None)
    assert asked == ["chat.postMessage", "conversations.history", "chat.update"]
    assert scene.ended == [None]


def test_a_fault_in_sending_ends_a_message_only_after_some_tries(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack may have it: only what cannot be rendered is at its end at once."""

    def broken(**_: object) -> None:
        raise ValueError("a defect")

    with slack_that_says(whole({"ok": True, "messages": []})) as (client, _asked):
        monkeypatch.setattr(client, "chat_postMessage", broken)
        states = []
        for _ in range(5):
            states.append(scene.sends(client).state)
            scene.clock.at += timedelta(minutes=1)

    assert states == ["queued"] * 4 + ["failed"]
    assert scene.ended == ["sending it failed 5 times (ValueError('a defect'))"]


def test_what_cannot_be_rendered_is_at_its_end(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slack was not asked, and would not be asked next time."""

    def broken(*_: object) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr("bot.slack.messages.render", broken)
    with slack_that_says(whole({"ok": True})) as (client, asked):
        post = scene.sends(client)

    assert post.state == "failed"
    assert scene.ended == ["it could not be rendered: ValueError('a defect')"]
    assert asked == []


@pytest.mark.parametrize(("asked", "waits"), [("60", timedelta(minutes=1)), ("3600", LONGEST_WAIT)])
def test_slack_is_not_asked_before_the_time_that_it_asks_for(scene: Scene, asked: str, waits: timedelta) -> None:
    """Nor at once where that is longer than any wait that is believed: at the end of the longest one."""
    refusal = whole({"ok": False, "error": "ratelimited"}, "429 Too Many Requests", f"Retry-After: {asked}\r\n")
    with slack_that_says(refusal) as (client, _methods):
        scene.sends(client)

    assert scene.store.outbox.claim(NINE + timedelta(seconds=5)) is None
    assert scene.store.outbox.claim(NINE + waits - timedelta(seconds=1)) is None
    assert scene.store.outbox.claim(NINE + waits) is not None


def test_what_is_looked_for_under_a_cut_answer_is_not_known(scene: Scene) -> None:
    """It may be there unseen."""
    post = Post(key="x/y", incident=None, channel="C1", text="hello", tries=2, problem="IncompleteRead")
    with slack_that_says(CUT) as (client, _asked):
        assert find_sent(client, post, None) == (None, True)
        assert file_is_there(client, "C1", "1.1", "a.png") is None
    assert answer_was_lost(post)


def test_a_group_under_a_cut_answer_could_not_be_looked_at() -> None:
    """Which is said in words, and is no defect of ours."""
    with slack_that_says(CUT) as (client, _asked), pytest.raises(CouldNotLook, match="could not be read"):
        SlackDirectory(client).members(["S1"])


def test_slacks_client_hands_on_what_urllib_raises() -> None:
    """The day it does not, `unreachable.py` can go."""
    with slack_that_says(CUT) as (client, _asked), pytest.raises(HTTPException) as raised:
        client.auth_test()

    assert isinstance(raised.value, IncompleteRead)
    assert not isinstance(raised.value, OSError)


def test_a_stop_while_a_message_is_sent_still_writes_down_that_it_was_sent(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the next start would send it again, where it cannot look for it."""
    client, stopping = WebClient(token="xoxb-1"), list[threading.Thread]()
    sender = scene.sender(client)

    def stopped_meanwhile(**_: object) -> dict[str, str]:
        closing = threading.Thread(target=sender.close)
        closing.start()
        stopping.append(closing)
        eventually(lambda: sender._stopped)
        return {"ts": "1.1"}

    monkeypatch.setattr(client, "chat_postMessage", stopped_meanwhile)
    sender.start()
    eventually(lambda: len(stopping) == 1)
    stopping[0].join()

    post = scene.store.outbox.find("x/y")
    assert post is not None
    assert (post.state, post.ts, len(stopping)) == ("sent", "1.1", 1)
