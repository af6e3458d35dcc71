"""What a `resolved` ends, and what PagerDuty says of an incident."""

import json
from typing import Any

import httpx
import pytest

from bot.incident.watch import WatchFinding
from bot.observation.ids import Severity
from bot.service.alerts import Alert
from bot.service.watching.finding_store import FindingStore
from bot.web.alerts import Alertmanager, PagerDuty
from tests.tables import ORDERS
from tests.watch.signs import finding
from tests.watch.test_alerts import finding_store, fires, pages, payload, scene, web

__all__ = ["finding_store", "scene", "web"]


def begins(finding_store: FindingStore) -> list[str]:
    """When each that lasts began, as its sender says."""
    return [
        f"{each.finding.started_at:%H:%M}" for each in finding_store.memory(ORDERS).lasting if each.finding.started_at
    ]


def page(kind: str, at: str, **data: object) -> dict[str, Any]:
    """An event of the kept incident at that time of its day."""
    body = payload("pagerduty_v3.json")
    body["event"] |= {"event_type": f"incident.{kind}", "occurred_at": f"2026-11-03T{at}:00Z"}
    body["event"]["data"] |= data
    return body


def one(status: str, at: str, **labels: str) -> dict[str, Any]:
    """The first kept alert, begun at that time."""
    body = payload("alertmanager_v4.json")
    body["alerts"] = body["alerts"][:1]
    body["alerts"][0] |= {"status": status, "startsAt": f"2026-11-03T{at}:00Z"}
    if labels:
        body["alerts"][0] |= {"labels": labels, "annotations": {}}
    return body


def test_a_late_resolved_of_pagerduty_leaves_what_fires_since(web: httpx.Client, finding_store: FindingStore) -> None:
    """It was sent again after the incident had been reopened."""
    pages(web, page("triggered", "08:07"))
    pages(web, page("reopened", "08:30"))

    late = pages(web, page("resolved", "08:20")).json()["resolved"]
    left = begins(finding_store)
    last = pages(web, page("resolved", "08:40")).json()["resolved"]

    assert (late, left) == (1, ["08:30"])
    assert (last, begins(finding_store)) == (1, [])


def test_a_late_resolved_of_alertmanager_leaves_what_fires_since(
    web: httpx.Client, finding_store: FindingStore
) -> None:
    """It ends what began when it did, and what began before."""
    fires(web, one("firing", "08:00"))
    fires(web, one("firing", "08:30"))
    fires(web, one("firing", "09:00"))

    late = fires(web, one("resolved", "08:30")).json()["resolved"]

    assert (late, begins(finding_store)) == (2, ["09:00"])


def test_what_an_earlier_version_kept_is_ended_by_any_resolved(web: httpx.Client, finding_store: FindingStore) -> None:
    """It had not kept when an alert began."""
    old = finding("alert", "PagerDuty/PGR0VU2").model_copy(update={"name": "an alert"})
    assert "started_at" not in json.loads(old.model_dump_json())
    finding_store.see(ORDERS, WatchFinding.model_validate_json(old.model_dump_json()), occasion="08:00")

    assert pages(web, page("resolved", "08:20")).json()["resolved"] == 1
    assert finding_store.memory(ORDERS).lasting == ()


@pytest.mark.parametrize("way", ["pagerduty", "alertmanager"])
def test_a_resolved_that_names_no_table_ends_what_was_told(
    web: httpx.Client, finding_store: FindingStore, way: str
) -> None:
    """The title was changed meanwhile, or an annotation is gone."""
    if way == "pagerduty":
        pages(web, page("triggered", "08:07"))
        over = pages(web, page("resolved", "08:20", title="Lag is high"))
    else:
        fires(web, one("firing", "08:00"))
        over = fires(web, one("resolved", "08:00", alertname="Lag"))

    assert over.json() == {"new": 0, "resolved": 1, "known": 0, "passed_over": []}
    assert finding_store.memory(ORDERS).lasting == ()


def test_a_resolved_that_nothing_was_told_of_is_passed_over(web: httpx.Client, finding_store: FindingStore) -> None:
    """Without a table it may be about anything; another's is not ended by it."""
    fires(web, one("firing", "08:00"))

    over = pages(web, page("resolved", "08:20", title="Lag is high")).json()

    assert (over["resolved"], len(over["passed_over"])) == (0, 1)
    assert len(finding_store.memory(ORDERS).lasting) == 1


def pages_told_page(**data: object) -> Alert:
    """The kept page, changed."""
    body = payload("pagerduty_v3.json")
    body["event"]["data"] |= data
    [alert] = PagerDuty.model_validate_json(json.dumps(body)).told()
    return alert


@pytest.mark.parametrize(
    ("priority", "urgency", "severity"),
    [
        ("P1", "high", "sev1"),
        ("P2", "high", "sev1"),
        ("P1", "low", "sev1"),
        ("P2", "low", "sev2"),
        ("P5", "low", "sev3"),
        ("Whatever we call it", "high", "sev1"),
        ("Whatever we call it", "low", "sev2"),
        ("P5", None, "sev3"),
        (None, "high", "sev1"),
        (None, "low", "sev3"),
        (None, None, "sev2"),
    ],
)
def test_the_graver_of_priority_and_urgency_counts(priority: str | None, urgency: str | None, severity: str) -> None:
    """A high urgency wakes somebody there, whatever the priority is called."""
    told = pages_told_page(priority={"summary": priority} if priority is not None else None, urgency=urgency)

    assert told.severity == severity


@pytest.mark.parametrize(
    ("word", "severity"),
    [
        ("SEV-1", "sev1"), ("Sev 0", "sev1"), ("P0", "sev1"), ("p_1", "sev1"), ("Emergency", "sev1"), ("FATAL", "sev1"),
        ("SEV-3", "sev3"), ("P-5", "sev3"), ("SEV-2", "sev2"), ("", "sev2"),
    ],
)  # fmt: skip
def test_a_word_is_known_however_it_is_written(word: str, severity: Severity) -> None:
    """Of both systems."""
    body: dict[str, Any] = payload("alertmanager_v4.json")
    body["alerts"] = body["alerts"][:1]
    body["alerts"][0]["labels"]["severity"] = word
    [alert] = Alertmanager.model_validate_json(json.dumps(body)).told()

    assert pages_told_page(priority={"summary": word}, urgency=None).severity == severity
    assert alert.severity == severity


@pytest.mark.parametrize(
    "body",
    [
        {"type": "incident_body", "details": "Firing:\nsales.orders is late\n"},
        {"details": {"firing": ["what is late:", {"table": "sales.orders"}]}},
        {"details": {"sales.orders": "late"}},
        {"details": "\tsales.orders"},
    ],
)
def test_a_table_is_found_wherever_the_body_names_it(web: httpx.Client, body: dict[str, Any]) -> None:
    """At the beginning of a line too, and in any part of it."""
    sent = payload("pagerduty_v3.json")
    sent["event"]["data"] |= {"title": "Lag is high", "body": body}

    assert pages(web, sent).json()["new"] == 1


def test_parts_of_a_body_are_not_read_as_one_name(web: httpx.Client) -> None:
    """What stands beside each other there is not one word."""
    sent = payload("pagerduty_v3.json")
    sent["event"]["data"] |= {"title": "Lag is high", "body": {"details": ["sales.", "orders", 7, None, True]}}

    assert pages(web, sent).json()["new"] == 0
