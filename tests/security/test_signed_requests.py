"""Over HTTP only Slack is heard: signed, within five minutes, and each request once."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from slack_sdk import WebClient
from slack_sdk.signature import SignatureVerifier
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from bot.adapters.clock import SystemClock
from bot.adapters.journal_sql import Store
from bot.observation.errors import BadConfiguration
from bot.settings import SlackSecrets
from bot.slack.app import build_app
from bot.slack.form_opener import FormOpener
from bot.slack.gateway import acknowledgement_times
from bot.slack.http import http_app

SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
BODY = urlencode(
    {"command": "/waterline", "text": "help", "user_id": "U0ANA00001", "channel_id": "C0ONCALL01",
     "trigger_id": "13345224609.738474920", "team_id": "T0STREAMS01", "token": "an-old-verification-token",
     "response_url": "https://hooks.slack.example/commands/1234"}
)  # fmt: skip
Post = Callable[..., int]


@pytest.fixture
def post(record: Store) -> Iterator[Post]:
    """Sends one request and says how it was answered."""
    woken = threading.Event()
    client = WebClient("xoxb-1", base_url="http://127.0.0.1:9/")
    app = build_app(
        client,
        forms=FormOpener(client, record.outbox, SystemClock()),
        inbox=record.inbox,
        clock=SystemClock(),
        on_stored=woken.set,
        signing_secret=SECRET,
    )
    with TestClient(http_app(app, acknowledgement_times())) as server:

        def send(body: str = BODY, **headers: str) -> int:
            sent = {"Content-Type": "application/x-www-form-urlencoded"}
            sent |= {name.replace("_", "-"): value for name, value in headers.items()}
            return server.post("/slack/events", content=body, headers=sent).status_code

        yield send


def signed(body: str = BODY, *, age_s: int = 0, secret: str = SECRET) -> dict[str, str]:
    """The headers that Slack sends with this body."""
    stamp = str(int(time.time()) - age_s)
    signature = SignatureVerifier(secret).generate_signature(timestamp=stamp, body=body)
    assert signature is not None
    return {"X_Slack_Request_Timestamp": stamp, "X_Slack_Signature": signature}


def stored(record: Store) -> list[str]:
    """Keys of what was delivered."""
    found = []
    while (delivery := record.inbox.claim(SystemClock().now())) is not None:
        found.append(delivery.key)
    return found


def test_a_signed_request_is_heard_once_however_often_it_is_sent(post: Post, record: Store) -> None:
    """Within the window a copy verifies; it is the same delivery, so it does nothing."""
    headers = signed()

    answers = [post(**headers) for _ in range(3)]

    assert answers == [200, 200, 200]
    assert stored(record) == ["command/13345224609.738474920"]


@pytest.mark.parametrize(
    "headers",
    [
        dict,
        lambda: signed(secret="another"),
        lambda: signed("another body"),
        lambda: {**signed(), "X_Slack_Signature": ""},
        lambda: {**signed(), "X_Slack_Signature": "v0=0"},
        lambda: {**signed(), "X_Slack_Request_Timestamp": "yesterday"},
        lambda: {**signed(), "X_Slack_Request_Timestamp": "1" * 400},
        lambda: {**signed(), "X_Slack_Request_Timestamp": "-1"},
        lambda: {**signed(), "X_Slack_Request_Timestamp": str(int(time.time()) + 1)},
    ],
    ids=["none", "secret", "body", "empty", "short", "word", "long", "negative", "moved"],
)
def test_a_request_that_slack_did_not_sign_is_not_stored(
    post: Post, record: Store, headers: Callable[[], dict[str, str]]
) -> None:
    """It is answered 401 and leaves nothing. Signed now: what was collected minutes ago is refused for its age."""
    assert post(**headers()) == 401
    assert stored(record) == []


@pytest.mark.parametrize("age_s", [301, 3600, -3600])
def test_an_old_request_is_not_heard_again(post: Post, record: Store, age_s: int) -> None:
    """A recorded request is worth five minutes, and one from the future nothing."""
    assert post(**signed(age_s=age_s)) == 401
    assert stored(record) == []


def test_a_signed_ssl_check_or_a_handshake_needs_the_signature_too(post: Post, record: Store) -> None:
    """There is no kind of request that is believed without one."""
    for body in ("ssl_check=1&token=x", json.dumps({"type": "url_verification", "challenge": "c"})):
        assert post(body) == 401
    assert stored(record) == []


def test_a_request_of_any_size_is_not_read_to_its_end(post: Post, record: Store) -> None:
    """Who cannot sign cannot fill the memory either."""
    assert post("x" * (1024 * 1024 + 1), X_Slack_Request_Timestamp="1") == 413
    assert stored(record) == []


def test_slacks_own_short_lived_secrets_are_not_kept(post: Post, record: Store) -> None:
    """The verification token and the address that lets anybody answer in the channel are masked before the disk."""
    post(**signed())

    delivery = record.inbox.claim(SystemClock().now())

    assert "an-old-verification-token" not in delivery.payload
    assert "hooks.slack.example" not in delivery.payload
    assert "U0ANA00001" in delivery.payload


def test_http_does_not_start_without_a_signing_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no way to serve HTTP with verification off."""
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-1")
    monkeypatch.delenv("SLACK_SIGNING_SECRET", raising=False)
    monkeypatch.delenv("SLACK_SIGNING_SECRET_FILE", raising=False)

    with pytest.raises(BadConfiguration, match="SLACK_SIGNING_SECRET"):
        SlackSecrets.for_mode("http")


def test_what_is_stale_or_signed_by_others_is_refused_and_logged(post: Post) -> None:
    """A request that is heard says nothing."""
    with capture_logs() as logged:
        refused = [post(**signed(age_s=600)), post(**signed(age_s=-600)), post(**signed(secret="another"))]
        heard = post(**signed())

    assert ([401] * 3, 200) == (refused, heard)
    assert ["a request was refused: stale, or not signed with slack_signing_secret"] * 3 == [
        line["event"] for line in logged
    ]
