"""What PagerDuty says of an incident: how grave it is, and which table its body names."""

import json
from typing import Any

import httpx
import pytest

from bot.domain.ids import Severity
from bot.service.alerts import Alert
from bot.web.alerts import Alertmanager, PagerDuty
from tests.watch.test_alerts import pages, payload, scene, sightings, web

__all__ = ["scene", "sightings", "web"]


def page(**data: object) -> Alert:
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
    told = page(priority={"summary": priority} if priority is not None else None, urgency=urgency)

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

    assert page(priority={"summary": word}, urgency=None).severity == severity
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

    assert pages(web, sent).json()["told"] == 1


def test_parts_of_a_body_are_not_read_as_one_name(web: httpx.Client) -> None:
    """What stands beside each other there is not one word."""
    sent = payload("pagerduty_v3.json")
    sent["event"]["data"] |= {"title": "Lag is high", "body": {"details": ["sales.", "orders", 7, None, True]}}

    assert pages(web, sent).json()["told"] == 0
