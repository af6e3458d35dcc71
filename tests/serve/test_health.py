"""What a cluster sees of `waterline serve` while it starts, stands by, works and ends."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from ruamel.yaml import YAML

from bot.workspace import Workspace
from tests.adapters.lake import Lake
from tests.adapters.serving import unused_address
from tests.postgres import Postgres
from tests.slack.people import eventually

pytestmark = pytest.mark.slow
OK = {"record": "ok", "catalog": "ok"}


class Served:
    """One process."""

    def __init__(self, process: "subprocess.Popen[bytes]", pages: str, slack: str, log: Path) -> None:
        self.process = process
        self.pages = pages
        self.slack = slack
        self.log = log

    def ready(self) -> tuple[int, dict[str, str]]:
        """What it answers; (0, {}) while nothing listens."""
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"{self.pages}/readyz", timeout=20, trust_env=False)
            return answer.status_code, answer.json()
        return 0, {}

    def status(self, path: str) -> int:
        return httpx.get(f"{self.pages}{path}", timeout=20, trust_env=False).status_code

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        self.process.send_signal(how)
        return self.process.wait(timeout=90)


@contextmanager
def serving(
    folder: Path, slack: Workspace, lake: Lake, mode: str, *, record: str | None = None, pages: bool = True
) -> Iterator[Served]:
    """A bot, with its pages unless `pages` is False, until the block ends or it has ended."""
    folder.mkdir(exist_ok=True)
    web, http = unused_address(), unused_address()
    port = int(http.rpartition(":")[2])
    content = {
        "home": "home",
        "catalog": {"name": "lake", "properties": lake.properties},
        "tables": {
            "sales.orders": {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
        },
        "slack": {"mode": mode, "base_url": slack.api_url, "port": port, "min_message_interval": 0},
        "web": {"port": int(web.rpartition(":")[2]), "pages": pages},
        **({"journal": {"url": record}} if record else {}),
    }
    with (folder / "waterline.yaml").open("w") as file:
        YAML().dump(content, file)
    secrets = {
        "SLACK_BOT_TOKEN": slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_SIGNING_SECRET": slack.signing_secret,
    }
    log = folder / "bot.log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "bot.cli", "serve", "--no-warm", "--config", str(folder / "waterline.yaml")]
        process = subprocess.Popen(
            command, env={**os.environ, **secrets, "PYTHONPATH": os.getcwd()}, stdout=output, stderr=output
        )
        try:
            yield Served(process, web, f"{http}/slack/events", log)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=90)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    made = Lake(tmp_path)
    made.append(1, 2)
    yield made
    made.close()


@pytest.mark.parametrize(("mode", "pages"), [("socket", True), ("socket", False), ("http", True), ("http", False)])
def test_it_lives_before_it_is_ready_and_ends_in_good_order(tmp_path: Path, lake: Lake, mode: str, pages: bool) -> None:
    """In either mode, with pages or without; readiness names Slack beside record and catalog."""
    with Workspace().serve() as slack, serving(tmp_path / "bot", slack, lake, mode, pages=pages) as bot:
        eventually(lambda: bot.ready()[0] != 0, timeout_s=60)
        first = bot.ready()
        lives = bot.status("/livez")
        eventually(lambda: bot.ready()[0] == 200, timeout_s=60)
        last = bot.ready()
        found = bot.status("/tables/sales.orders"), bot.status("/metrics")
        code = bot.end()

    assert (first, lives) == ((503, {"process": "Waterline is starting."}), 200)
    assert last == (200, {**OK, "slack": "ok"})
    assert "warning" not in bot.log.read_text()
    assert found == ((200, 200) if pages else (404, 404))
    assert code == 0
    assert "Traceback" not in bot.log.read_text()


def test_a_replica_stands_by_ready_with_pages_and_takes_over(tmp_path: Path, lake: Lake, postgres: Postgres) -> None:
    """It serves the pages and keeps what Slack sends; the one that works answers it. Killed, it is followed."""
    record = postgres.new_database()
    with (
        Workspace().serve() as slack,
        serving(tmp_path / "one", slack, lake, "http", record=record) as one,
    ):
        eventually(lambda: one.ready()[0] == 200, timeout_s=60)
        with serving(tmp_path / "two", slack, lake, "http", record=record) as two:
            eventually(lambda: two.ready() == (200, OK), timeout_s=60)
            pages = two.status("/tables/sales.orders"), two.status("/livez"), two.status("/metrics")
            slack.deliver_to(two.slack)
            ana = slack.person("ana")
            outcome = ana.types("/waterline help").outcome
            answer = ana.waits_for("/waterline open", timeout=60).plain
            killed = one.end(signal.SIGKILL)
            eventually(lambda: two.ready() == (200, {**OK, "slack": "ok"}), timeout_s=60)
            ana.types("/waterline commits")
            after = ana.waits_for("sales.orders", timeout=60).plain
            code = two.end()

    assert pages == (200, 200, 200)
    assert (outcome, killed, code) == ("acked", -signal.SIGKILL, 0)
    assert "open an incident on a table" in answer
    assert after
