"""`waterline trust` as a pipeline calls it, and `waterline web` beside it: both as processes of their own."""

import hashlib
import hmac
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import pytest
import requests
import schemathesis
from click.testing import Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.specs.openapi.schemas import OpenApiSchema
from typer.testing import CliRunner

from bot.cli import app
from bot.cli.trust import Required, exit_code
from bot.incident.trust import Basis, TrustState
from bot.service.alerts import AlertService
from bot.service.watching.finding_store import FindingStore
from bot.settings import WebSettings
from bot.web.access import Access
from bot.web.alerts import AlertRoutes
from tests.docs.blocks import blocks
from tests.tables import ORDERS
from tests.web.conftest import served as serve
from tests.web.scene import REFUNDS, Scene

TOKEN = "wl-read-5f1c"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
Gate = Callable[..., Result]


@pytest.fixture
def config(scene: Scene) -> Path:
    """What a deployment would say of the scene."""
    return scene.configured(ORDERS, REFUNDS, web={"port": 0})


@pytest.fixture
def gate(config: Path) -> Gate:
    """The command, run to its end in this process."""

    def run(*arguments: str, environment: Mapping[str, str] | None = None) -> Result:
        return CliRunner().invoke(app, ["trust", *arguments, "--config", str(config)], env=dict(environment or {}))

    return run


@pytest.fixture
def served(config: Path) -> Iterator[str]:
    """`waterline web` behind a token; its address."""
    command = [sys.executable, "-m", "bot.cli", "web", "--config", str(config)]
    environment = {**os.environ, "WATERLINE_WEB_TOKEN": TOKEN}
    log = config.with_name("web.log")
    with log.open("w") as output, subprocess.Popen(command, env=environment, stderr=output) as process:
        try:
            yield _told_address(log, process)
        finally:
            process.send_signal(signal.SIGTERM)
            ended = process.wait(timeout=90)
    assert ended == 0


def test_the_gate_opens_for_a_trusted_table_and_shuts_for_one_under_review(
    scene: Scene, gate: Gate, config: Path
) -> None:
    """By its exit code, also as a process; a person reads why and what to read instead."""
    before = gate(ORDERS, "--require", "trusted")
    scene.opens().diagnoses()
    after = gate(ORDERS)
    command = [sys.executable, "-m", "bot.cli", "trust", ORDERS, "--config", str(config)]
    process = subprocess.run(command, capture_output=True, text=True, check=False, timeout=150)

    assert (0, 1, 1) == (before.exit_code, after.exit_code, process.returncode)
    assert process.stdout == after.stdout
    assert "sales.orders: trusted." in before.stdout
    assert "sales.orders: under review. Incident wl-1 is open on it." in after.stdout
    assert f"VERSION AS OF {scene.good}" in after.stdout


def test_what_could_not_be_told_is_neither_yes_nor_no(scene: Scene, gate: Gate, config: Path) -> None:
    """A table that the catalog does not have, a mistyped one, a record that is not there, a server that is down."""
    missing, mistyped = gate(REFUNDS, "--json"), gate("sales.ordres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        down = gate(ORDERS, "--url", f"http://127.0.0.1:{free.getsockname()[1]}")
    scene.store.close()
    (scene.folder / "journal.db").rename(scene.folder / "elsewhere.db")
    unrecorded = gate(ORDERS)

    assert [2, 2, 2, 2] == [each.exit_code for each in (missing, mistyped, down, unrecorded)]
    assert json.loads(missing.stdout)["state"] == "unknown"
    assert "is not set up for a table sales.ordres" in mistyped.stderr
    assert "Do not trust the table" in down.stderr
    assert "without it no incident is known" in unrecorded.stderr
    assert not (scene.folder / "journal.db").exists()


def test_the_gate_asks_a_server_and_needs_its_token(scene: Scene, gate: Gate, served: str) -> None:
    """The same answer over HTTP, from a machine that has neither catalog nor record."""
    scene.opens()

    asked = gate(ORDERS, "--json", "--url", served, environment={"WATERLINE_WEB_TOKEN": TOKEN})
    refused = gate(ORDERS, environment={"WATERLINE_URL": served, "WATERLINE_WEB_TOKEN": "wrong"})
    mistyped = gate("sales.ordres", "--url", served, environment={"WATERLINE_WEB_TOKEN": TOKEN})

    assert (1, str(scene.good)) == (asked.exit_code, json.loads(asked.stdout)["snapshot"])
    assert (2, True) == (refused.exit_code, "Set WATERLINE_WEB_TOKEN" in refused.stderr)
    assert (2, True) == (mistyped.exit_code, f"{served}/v1/tables" in mistyped.stderr)


def test_the_script_of_the_page_asks_the_server(scene: Scene, served: str, tmp_path: Path) -> None:
    """Typed where there is no configuration: it goes on for a trusted table, and stops for one under review."""
    page = blocks("sh", under="docs/how-to/gate-a-pipeline.md")[1].text
    script = page.replace("https://waterline.acme.example", served).replace("…", TOKEN)
    here = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def typed() -> int:
        return subprocess.run(["bash", "-c", script], cwd=elsewhere, env=here, check=False).returncode

    before = typed()
    scene.opens()

    assert (before, typed()) == (0, 1)


def test_pages_are_served_without_the_bot_and_see_what_it_writes(scene: Scene, served: str) -> None:
    """The record is read anew for each question."""
    with httpx.Client(base_url=served, auth=("", TOKEN)) as web:
        before = web.get("/").text
        scene.opens()
        after = web.get("/").text

    assert ("wl-1" not in before, "wl-1" in after) == (True, True)


@pytest.mark.parametrize(
    ("state", "basis", "require", "code"),
    [
        (TrustState.TRUSTED, Basis.VERIFIED, Required.TRUSTED, 0),
        (TrustState.TRUSTED, Basis.VERIFIED, Required.VERIFIED, 0),
        (TrustState.TRUSTED, Basis.NEVER_QUESTIONED, Required.TRUSTED, 0),
        (TrustState.TRUSTED, Basis.NEVER_QUESTIONED, Required.VERIFIED, 1),
        (TrustState.UNDER_REVIEW, Basis.VERIFIED, Required.TRUSTED, 1),
        (TrustState.UNKNOWN, Basis.VERIFIED, Required.TRUSTED, 2),
        (TrustState.UNKNOWN, Basis.VERIFIED, Required.VERIFIED, 2),
    ],
)
def test_the_exit_code_is_the_answer(
    scene: Scene, state: TrustState, basis: Basis, require: Required, code: int
) -> None:
    """0 only for what was required."""
    found = scene.trust.model_copy(update={"state": state, "basis": basis})

    assert code == exit_code(found, require)


def _told_address(log: Path, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = _ADDRESS.search(log.read_text())
        if found:
            return found[0]
        time.sleep(0.05)
    pytest.fail(f"no address was told:\n{log.read_text()}")


FUZZ_TOKEN, ALERT_TOKEN, SECRET = "wl-read-5f1c", "wl-alert-77ab", "wl-findings-0c3e"


class Key(requests.auth.AuthBase):
    """What the sender of each address has: a token, or the secret that findings the body."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """As `requests` asks for it."""
        body = request.body or b""
        content = body.encode() if isinstance(body, str) else body
        if self._path.endswith("/pagerduty"):
            signature = hmac.new(SECRET.encode(), content, hashlib.sha256).hexdigest()
            request.headers["X-PagerDuty-Signature"] = f"v1={signature}"
        else:
            token = ALERT_TOKEN if self._path.startswith("/v1/alerts/") else FUZZ_TOKEN
            request.headers["Authorization"] = f"Bearer {token}"
        return request


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenApiSchema]:
    """Of a server whose table is under review, behind a token."""
    scene = Scene(Path(tmp_path_factory.mktemp("fuzz")))
    scene.opens().diagnoses().proposes()
    access = Access(WebSettings(), FUZZ_TOKEN)
    finding_store = FindingStore(
        scene.store.watched, scene.store.outbox, scene.incidents, scene.clock, {ORDERS: "C0ORDERS01"}
    )
    desk = AlertService(finding_store, scene.desk().setups, None)
    alerts = AlertRoutes(desk, token=ALERT_TOKEN, pagerduty_secret=SECRET)
    with serve(scene, access, alerts=alerts) as address:
        found = schemathesis.openapi.from_url(
            f"{address}/v1/openapi.json", headers={"Authorization": f"Bearer {FUZZ_TOKEN}"}
        )
        found.config.generation.with_security_parameters = False  # `Key` has them, and a signature is none to guess
        found.config.checks.negative_data_rejection.expected_statuses.append("413")  # a bad body may be too long first
        yield found
    scene.close()


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[
        HealthCheck.too_slow,
        HealthCheck.function_scoped_fixture,
        HealthCheck.filter_too_much,  # bad requests are found by trying
    ],
)
@given(data=st.data())
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
def test_no_request_breaks_the_description(
    api: OpenApiSchema, mode: schemathesis.GenerationMode, data: st.DataObject
) -> None:
    """Status, content type, headers and body are those that the document promises; nothing answers 500, and what
    needs a token is told to nobody without one."""
    operation = data.draw(st.sampled_from([found.ok() for found in api.get_all_operations()]), label="operation")
    case = data.draw(operation.as_strategy(generation_mode=mode), label="request")

    case.call_and_validate(auth=Key(operation.path))
