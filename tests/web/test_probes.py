"""What a cluster asks: does it live, can it work, and the numbers for Prometheus."""

import re
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from bot.adapters.iceberg import PyIcebergCatalog
from bot.observation.errors import CouldNotLook
from bot.observation.findings import Limit, RecoveryDeadline
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.probes import NUMBERS
from tests.tables import ORDERS
from tests.web.conftest import served
from tests.web.scene import REFUNDS, Scene

TOKEN = "kept-by-those-who-may-read"


def numbers(answer: httpx.Response) -> dict[tuple[str, str], float]:
    """(Name, table) -> value."""
    assert answer.headers["content-type"].startswith("text/plain")
    families = text_string_to_metric_families(answer.text)
    samples = [each for family in families for each in family.samples]
    return {(each.name, each.labels["table"]): each.value for each in samples if "table" in each.labels}


def test_a_table_that_nobody_doubts_is_trusted_and_one_that_cannot_be_read_is_not_a_number(web: httpx.Client) -> None:
    """So that neither `== 1` nor `== 0` holds for it."""
    found = numbers(web.get("/metrics"))

    assert found["waterline_table_trusted", ORDERS] == 1
    assert str(found["waterline_table_trusted", REFUNDS]) == "nan"
    assert (found["waterline_open_incidents", ORDERS], found["waterline_open_incidents", REFUNDS]) == (0, 0)


def test_alert_rules_name_numbers_that_there_are(scene: Scene, web: httpx.Client) -> None:
    """A rule over a number that nobody serves never fires."""
    rules = yaml.safe_load((Path(__file__).parents[2] / "deploy/prometheus/alerts.yaml").read_text(encoding="utf-8"))
    named = {name for each in rules["groups"][0]["rules"] for name in re.findall(r"waterline_\w+", each["expr"])}

    scene.opens()

    served = set(re.findall(r"^# TYPE (\w+) ", web.get("/metrics").text, re.MULTILINE))
    assert served <= set(NUMBERS)
    assert {re.sub("_(bucket|sum|count)$", "", each) for each in named} <= set(NUMBERS)


def test_an_incident_and_the_decision_that_waits_are_in_the_numbers(scene: Scene, web: httpx.Client) -> None:
    """Each scrape looks anew."""
    scene.opens().diagnoses().proposes()
    scene.clock.at += timedelta(minutes=5)

    found = numbers(web.get("/metrics"))

    assert (found["waterline_table_trusted", ORDERS], found["waterline_open_incidents", ORDERS]) == (0, 1)
    assert found["waterline_table_commits_above_trusted", ORDERS] == 2
    assert found["waterline_proposal_waiting_seconds", ORDERS] == 360


def test_of_a_private_incident_only_the_doubt_is_told(scene: Scene, web: httpx.Client) -> None:
    """As on every page."""
    scene.opens(private=True)

    found = numbers(web.get("/metrics"))

    assert (found["waterline_table_trusted", ORDERS], found["waterline_open_incidents", ORDERS]) == (0, 0)


def test_the_recovery_deadline_counts_down(scene: Scene) -> None:
    """An alert rule compares it with an hour. Of each kind the first is told; what only somebody may do is not."""
    until = scene.clock.at + timedelta(hours=2)
    wanted = {"records": (2, False), "files": (1, True)}
    limits = [
        Limit(kind=kind, what="", at=scene.clock.at + timedelta(hours=hours), how="", after="", is_conditional=maybe)
        for kind, (hours, maybe) in wanted.items()
    ]
    later = limits[0].model_copy(update={"at": until + timedelta(hours=1)})
    deadline = RecoveryDeadline(
        looked_at=scene.clock.at, recoverable_until=until, because="", restore_point=None, limits=(*limits, later)
    )
    desk = scene.desk(deadlines=lambda table: deadline if table == ORDERS else None)
    with served(scene, Access(WebSettings(), None), desk) as address:
        scene.clock.at += timedelta(minutes=90)
        answer = httpx.get(f"{address}/metrics")
        found = numbers(answer)

    assert answer.text.count("waterline_recovery_deadline_seconds{") == 1
    assert 'limit="records"' in answer.text
    assert found["waterline_recovery_deadline_seconds", ORDERS] == 1800
    assert ("waterline_recovery_deadline_seconds", REFUNDS) not in found


@pytest.mark.parametrize("hindered", [None, "The socket to Slack is not connected."])
def test_it_is_ready_when_nothing_hinders_it(scene: Scene, hindered: str | None) -> None:
    """Open to whoever probes, also where pages ask for a token; no table is named, and it lives all the same."""
    access, checks = Access(WebSettings(), TOKEN), {"slack": lambda: hindered}
    with served(scene, access, checks=checks) as address:
        ready, lives, refused = (httpx.get(f"{address}{path}") for path in ("/readyz", "/livez", "/metrics"))

    assert (ready.status_code, lives.status_code, refused.status_code) == (503 if hindered else 200, 200, 401)
    assert ready.json() == {"record": "ok", "catalog": "ok", "slack": hindered or "ok"}


def test_without_record_or_catalog_it_is_not_ready(
    scene: Scene, web: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A catalog that answers for one table answers; numbers of tables come without the record too."""

    def fails(*_: object) -> None:
        raise CouldNotLook("It does not answer.", "", "")

    monkeypatch.setattr(scene.incidents, "all", fails)
    without_record = web.get("/readyz")
    trusted = numbers(web.get("/metrics"))
    monkeypatch.setattr(PyIcebergCatalog, "load", fails)
    without_both = web.get("/readyz")

    assert without_record.json() == {"record": "The record cannot be read.", "catalog": "ok"}
    assert without_both.json()["catalog"] == "No watched table can be read."
    assert (without_record.status_code, without_both.status_code) == (503, 503)
    assert str(trusted["waterline_table_trusted", ORDERS]) == "nan"
