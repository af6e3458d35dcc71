"""Alert rules and dashboard: tried by Prometheus itself, on what Waterline serves."""

import json
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from starlette.staticfiles import StaticFiles

from bot.incident.entries import EvidenceRecorded, EvidenceRequested
from bot.observation.findings import Limit, RecoveryDeadline
from bot.observation.ids import EvidenceId
from bot.service.record import Records
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.app import serving, web_app
from bot.web.probes import NUMBERS
from bot.workspace import Workspace
from tests.adapters.kubernetes import cannot_be_had
from tests.adapters.lake import Lake
from tests.adapters.serving import served, unused_address
from tests.decisions import ANA
from tests.deploy.image import BUILD
from tests.docs.site import build
from tests.found import evidence
from tests.lab_fixtures import FreshLab
from tests.serve.test_health import serving as bot_serving
from tests.slack.people import eventually
from tests.tables import ORDERS
from tests.walks.world import incident
from tests.web.conftest import CONTENT
from tests.web.scene import Scene

PROJECT = Path(__file__).parents[2]
ALERTS = PROJECT / "deploy/prometheus/alerts.yaml"
PAGES, DOCS = "https://waterline.example.com", "https://waterline-docs.example.com"
"""The placeholders in it."""
PANELS = [
    (panel["title"], target["expr"])
    for panel in json.loads((PROJECT / "deploy/grafana/waterline.json").read_text())["panels"]
    for target in panel.get("targets", ())
]


LINKS = ("runbook", "table")
OF_TRUST = {"TableTrustNotKnown", "TableNotTrusted"}


def test_the_alert_rules_fire_when_they_should_and_not_before() -> None:
    """Each one is tried on series of numbers; `alerts_test.yaml` has them."""
    if shutil.which("promtool") is None:
        cannot_be_had("promtool is not installed: apt-get install prometheus", BUILD)
    tests = Path(__file__).with_name("alerts_test.yaml")
    told = subprocess.run(["promtool", "test", "rules", str(tests)], capture_output=True, text=True, check=False)
    tried = re.findall(r"alertname: (\w+)\n\s+exp_alerts", re.sub(r" +#.*", "", tests.read_text()))

    assert told.returncode == 0, told.stdout + told.stderr
    assert {rule["alert"] for rule in rules()} == set(tried)


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def test_every_alert_says_where_to_read_on() -> None:
    """What it means and what to do, which tests/docs finds on the site; and the page of its table, if it has one."""
    for rule in rules():
        urls = {name: url for name, url in rule["annotations"].items() if name.endswith("_url")}
        assert urls.pop("runbook_url") == f"{DOCS}/docs/alerts.html#{rule['alert'].lower()}"
        of_a_table = "{{ $labels.table }}" in rule["annotations"]["summary"]
        assert urls == ({"table_url": f"{PAGES}/tables/{{{{ $labels.table }}}}"} if of_a_table else {})


def test_rules_and_panels_name_numbers_that_there_are() -> None:
    """And no number is left out of the dashboard."""
    in_panels = named(expression for _, expression in PANELS)

    assert named(rule["expr"] for rule in rules()) <= set(NUMBERS)
    assert in_panels == set(NUMBERS)


def named(expressions: Iterator[str]) -> set[str]:
    found = {name for each in expressions for name in re.findall(r"waterline_\w+", each)}
    return {re.sub("_(bucket|sum|count)$", "", name) for name in found}


@contextmanager
def prometheus(folder: Path, targets: Sequence[str], alerts: str = "") -> Iterator[str]:
    """A real one that asks these addresses every second. `alerts`: its rules, if it shall have some."""
    if shutil.which("prometheus") is None:
        cannot_be_had("Prometheus is not installed: apt-get install prometheus", BUILD)
    (folder / "alerts.yaml").write_text(alerts)
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [str(folder / "alerts.yaml")],
        "scrape_configs": [{"job_name": "waterline", "static_configs": [{"targets": list(targets)}]}],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = unused_address()
    told = (f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data")
    own = (f"--web.listen-address={address.removeprefix('http://')}", "--log.level=warn")
    with (folder / "prometheus.log").open("w") as log:
        process = subprocess.Popen(["prometheus", *told, *own], stdout=log, stderr=subprocess.STDOUT)
        try:
            yield address
        finally:
            process.terminate()
            process.wait(60)


def asked(address: str, expression: str) -> list[dict[str, Any]]:
    """The series that a query gives now; as Grafana asks it, for every table."""
    query = expression.replace("$table", ".*").replace("$__rate_interval", "20s")
    answer = httpx.get(f"{address}/api/v1/query", params={"query": query}, trust_env=False, timeout=20).json()
    assert answer["status"] == "success", (query, answer)
    return list(answer["data"]["result"])


@contextmanager
def doubted_table(folder: Path) -> Iterator[str]:
    """The address of pages and numbers of a table with an incident and a proposal, whose records are gone soon."""
    scene = Scene(folder)
    limit = Limit(kind="records", what="", at=scene.clock.at + timedelta(hours=2), how="", after="")
    deadline = RecoveryDeadline(
        looked_at=scene.clock.at, recoverable_until=limit.at, because="", restore_point=None, limits=(limit,)
    )
    scene.opens().diagnoses(deadline).proposes()
    run = EvidenceId("e1")
    found = evidence("duplicate_rows", scene.incidents.get(scene.id).opened.window, scene.clock.at, id=run)
    entries = EvidenceRequested(run=run, task=found.task, step=None), EvidenceRecorded(run=run, evidence=found)
    scene.incidents.write(scene.id, by=ANA, decide=lambda _incident: entries)
    app = web_app(
        scene.desk(), scene.restores(), Records(CONTENT), CONTENT, Access(WebSettings(), None), lambda _users: {}
    )
    with serving(app, "127.0.0.1", 0) as address:
        yield address
    scene.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_alerts_fire_while_a_real_job_damages_its_table(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """First that nobody knows any more, by what the watch found; then that it is not trusted, by the incident. Before
    the damage neither fires. The links lead to the runbook and to the table's page of the bot that works."""
    lab, pages = fresh_lab("v2"), unused_address()
    target = pages.removeprefix("http://")
    (tmp_path / "prometheus").mkdir()
    (tmp_path / "bot").mkdir()
    with incident(lab, tmp_path / "bot") as world, served(StaticFiles(directory=build(tmp_path / "docs"))) as docs:
        more = {"web": {"port": int(target.rpartition(":")[2])}, "watch": {"poll_interval": 5}}
        world.config.write_text(yaml.safe_dump(yaml.safe_load(world.config.read_text()) | more))
        alerts = ALERTS.read_text().replace(PAGES, pages).replace(DOCS, docs)
        soon = re.sub(r"for: \w+", "for: 1s", alerts)
        with world.bot(), prometheus(tmp_path / "prometheus", [target], soon) as up:
            eventually(lambda: trusted_in(up) == ["1"], timeout_s=120)
            before = OF_TRUST & set(firing(up))
            lab.tell("restored-from-older-savepoint")
            eventually(lambda: "TableTrustNotKnown" in firing(up), timeout_s=180)
            world.opens("duplicate-rows")
            eventually(lambda: "TableNotTrusted" in firing(up), timeout_s=60)
            links = firing(up)["TableNotTrusted"]["annotations"]
            runbook, page = (httpx.get(links[f"{name}_url"], trust_env=False, timeout=20) for name in LINKS)

    assert before == set()
    assert (runbook.status_code, page.status_code) == (200, 200)
    assert 'id="tablenottrusted"' in runbook.text
    assert "Consumers see rows twice" in runbook.text
    assert lab.state.table in page.text


def trusted_in(address: str) -> list[str]:
    """What each table's trust is now; none while Prometheus starts."""
    with suppress(httpx.TransportError, AssertionError, ValueError):
        return [each["value"][1] for each in asked(address, "waterline_table_trusted")]
    return []


def firing(address: str) -> dict[str, dict[str, Any]]:
    """The alerts that fire, by name; none while Prometheus starts."""
    with suppress(httpx.TransportError):
        told = httpx.get(f"{address}/api/v1/alerts", trust_env=False, timeout=20)
        alerts = told.json()["data"]["alerts"] if told.is_success else []
        return {each["labels"]["alertname"]: each for each in alerts if each["state"] == "firing"}
    return {}


@pytest.mark.slow
def test_every_panel_shows_something_of_a_bot_that_works(tmp_path: Path) -> None:
    """One process serves tables and an incident, another one is a whole bot that is clicked."""
    for name in ("scene", "lake", "bot", "prometheus"):
        (tmp_path / name).mkdir()
    lake = Lake(tmp_path / "lake")
    lake.append(1, 2)
    with (
        doubted_table(tmp_path / "scene") as tables,
        Workspace().serve() as slack,
        bot_serving(tmp_path / "bot", slack, lake, "socket") as bot,
    ):
        eventually(lambda: bot.ready()[0] == 200, timeout_s=60)
        targets = [each.removeprefix("http://") for each in (tables, bot.pages)]
        with prometheus(tmp_path / "prometheus", targets) as up:
            eventually(lambda: is_up(up), timeout_s=60)
            ana = slack.person("ana")
            slow, until = next(each for _, each in PANELS if "0.99" in each), time.monotonic() + 60
            while time.monotonic() < until:
                ana.types("/waterline help")
                time.sleep(0.5)
                empty = [title for title, each in PANELS if not asked(up, each)]
                if not empty and asked(up, slow)[0]["value"][1] != "NaN":
                    break
            trusted = asked(up, f'min by (table) (waterline_table_trusted{{table="{ORDERS}"}})')
            slowest = asked(up, slow)
    lake.close()

    assert not empty
    assert trusted[0]["value"][1] == "0"
    assert 0 < float(slowest[0]["value"][1]) < 3


def is_up(address: str) -> bool:
    """Whether Prometheus is ready and both targets were asked."""
    try:
        if httpx.get(f"{address}/-/ready", trust_env=False, timeout=20).status_code != 200:
            return False
        return [each["value"][1] for each in asked(address, "up")] == ["1", "1"]
    except httpx.TransportError:
        return False
