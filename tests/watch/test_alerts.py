"""Alerts of other systems, as they are sent: checked, told once, noted when they are over."""

import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bot.incident.approval import ApprovalPolicy
from bot.incident.setup import TableSetup
from bot.service.alerts import AlertService
from bot.service.record import Records
from bot.service.watching.finding_store import FindingStore
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.alerts import AlertRoutes
from bot.web.app import serving, web_app
from tests.tables import CONTRACT, ORDERS
from tests.web.conftest import CONTENT, scene
from tests.web.scene import Scene

__all__ = ["scene"]
pytestmark = pytest.mark.smoke

PAYLOADS = Path(__file__).parent / "payloads"
"""`alertmanager_v4.json` was sent by Alertmanager 0.25.0 (see `real_alertmanager.py`)."""
TOKEN, SECRET = "alerts-come-here-42", "signed-by-pagerduty-42"
SETUP = TableSetup(
    name=ORDERS,
    job="orders-to-iceberg",
    contract=CONTRACT,
    consumers=(),
    policies={"default": ApprovalPolicy(users=("U0BEN00001",))},
    next_update_minutes=30,
)


@pytest.fixture
def finding_store(scene: Scene) -> FindingStore:
    """What is remembered of the table."""
    return FindingStore(scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, {ORDERS: "C0ORDERS01"})


@pytest.fixture
def web(scene: Scene, finding_store: FindingStore) -> Iterator[httpx.Client]:
    """A sender; readers have a token of their own."""
    access = Access(WebSettings(), "readers-only-42")
    routes = AlertRoutes(AlertService(finding_store, {ORDERS: SETUP}, None), token=TOKEN, pagerduty_secret=SECRET)
    app = web_app(scene.desk(), scene.restores(), Records(CONTENT), CONTENT, access, lambda _users: {}, routes)
    with serving(app, "127.0.0.1", 0) as address, httpx.Client(base_url=address) as client:
        yield client


def payload(name: str) -> dict[str, Any]:
    """One of the kept payloads."""
    found: dict[str, Any] = json.loads((PAYLOADS / name).read_text())
    return found


def fires(web: httpx.Client, body: dict[str, Any], token: str = TOKEN) -> httpx.Response:
    return web.post("/v1/alerts/alertmanager", json=body, headers={"Authorization": f"Bearer {token}"})


def pages(web: httpx.Client, body: dict[str, Any], secret: str = SECRET) -> httpx.Response:
    """As PagerDuty does, while its secret is being changed."""
    content = json.dumps(body).encode()
    signature = hmac.new(secret.encode(), content, hashlib.sha256).hexdigest()
    headers = {"X-PagerDuty-Signature": f"v1={'0' * 64},v1={signature}", "Content-Type": "application/json"}
    return web.post("/v1/alerts/pagerduty", content=content, headers=headers)


def test_alerts_are_told_once_and_what_names_no_table_is_said(web: httpx.Client, finding_store: FindingStore) -> None:
    """By the job's name, and by the table's with its catalog; Alertmanager repeats a group until it is resolved."""
    first, again = fires(web, payload("alertmanager_v4.json")), fires(web, payload("alertmanager_v4.json"))

    told = [each.finding for each in finding_store.memory(ORDERS).lasting]

    assert (first.json()["new"], again.json()["new"], again.json()["known"]) == (2, 0, 2)
    assert first.json()["passed_over"][0]["fingerprint"] == "b3839b5e2b922ca4"
    assert told[0].headline == "FlinkCheckpointsFailing: Checkpoints of orders-to-iceberg fail"
    assert (told[0].severity, told[0].runbook) == ("sev1", "failed-checkpoints")
    assert told[1].headline == "TableStale"


def test_a_resolved_alert_is_over_and_a_later_one_is_new(web: httpx.Client, finding_store: FindingStore) -> None:
    """By fingerprint; the group may fire on meanwhile."""
    body = payload("alertmanager_v4.json")
    fires(web, body)
    body["alerts"][0] |= {"status": "resolved", "endsAt": "2026-11-03T08:20:00Z"}

    resolved = fires(web, body)
    lasting = [each.finding.headline for each in finding_store.memory(ORDERS).lasting]
    body["alerts"][0] |= {"status": "firing", "startsAt": "2026-11-03T08:40:00Z"}
    later = fires(web, body)

    assert (resolved.json()["resolved"], lasting) == (1, ["TableStale"])
    assert later.json()["new"] == 1


def test_a_page_is_taken_when_its_signature_fits(web: httpx.Client, finding_store: FindingStore) -> None:
    """Redelivered, acknowledged and resolved: one message, one end."""
    body = payload("pagerduty_v3.json")
    first, again = pages(web, body), pages(web, body)
    acknowledged = pages(web, {"event": body["event"] | {"event_type": "incident.acknowledged"}})
    told = finding_store.memory(ORDERS).lasting
    over = pages(web, {"event": body["event"] | {"event_type": "incident.resolved"}})

    assert (first.json()["new"], again.json()["known"], acknowledged.json()["new"]) == (1, 1, 0)
    assert told[0].finding.link == "https://acme.pagerduty.com/incidents/PGR0VU2"
    assert over.json()["resolved"] == 1
    assert finding_store.memory(ORDERS).lasting == ()


def test_nobody_else_is_believed(web: httpx.Client, finding_store: FindingStore) -> None:
    """A wrong key, a reader's token, a body that was changed, and no key at all."""
    body = payload("alertmanager_v4.json")

    answers = [
        fires(web, body, "wrong"),
        fires(web, body, "readers-only-42"),
        web.post("/v1/alerts/alertmanager", json=body),
        pages(web, payload("pagerduty_v3.json"), "another"),
    ]

    assert [answer.status_code for answer in answers] == [401] * 4
    assert finding_store.memory(ORDERS).reported == {}
    assert web.get("/v1/tables", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 401


def test_a_body_that_is_none_is_refused_in_words(web: httpx.Client) -> None:
    """The sender's log then says what to correct; too long a one is not read to its end."""
    other = fires(web, {"version": "4", "alerts": [{"status": "firing"}]})
    huge = fires(web, {"alerts": [], "more": "x" * (1 << 20)})

    assert other.status_code == 400
    assert "alerts.0.startsAt" in other.json()["detail"]
    assert huge.status_code == 413


def test_a_moment_that_is_a_bare_number_is_refused(web: httpx.Client) -> None:
    """Found by requests at random: `0` was read as the first second of 1970, which the description does not allow."""
    body = payload("pagerduty_v3.json")
    body["event"]["occurred_at"] = "0"

    answer = pages(web, body)

    assert answer.status_code == 400
    assert "with its zone" in answer.text
