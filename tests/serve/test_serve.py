"""`waterline serve` as a process, by Socket Mode and by signed HTTP, against the local workspace."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bot.workspace import Workspace
from tests.actions.test_own_action import EXAMPLE
from tests.slack.people import eventually

pytestmark = pytest.mark.slow

SLOW_ACTION = """
import time
from pathlib import Path

while not Path(__file__).with_name("go").exists():
    time.sleep(0.05)
"""
"""What makes an action of somebody's own take its time to be imported."""


@contextmanager
def serving(
    folder: Path, slack: Workspace, mode: str, port: int = 3000, token: str | None = None, own: str | None = None
) -> Iterator[Path]:
    """The bot runs with a table that its catalog does not have; its log is what the block gets."""
    catalog = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    table = {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
    content = {
        "home": "home",
        "catalog": {"name": "lake", "properties": catalog},
        "tables": {"sales.orders": table},
        "slack": {"mode": mode, "base_url": slack.api_url, "port": port, "min_message_interval": 0},
        "web": {"port": 0, "pages": False},
        **({"actions": [own]} if own else {}),
    }
    config = folder / "waterline.yaml"
    with config.open("w") as file:
        YAML().dump(content, file)
    secrets = {
        "SLACK_BOT_TOKEN": token or slack.bot_token,
        "SLACK_APP_TOKEN": slack.app_token,
        "SLACK_SIGNING_SECRET": slack.signing_secret,
    }
    log = folder / "bot.log"
    with log.open("wb") as output:
        command = [sys.executable, "-m", "bot.cli", "serve", "--no-warm", "--config", str(config)]
        found = {"PYTHONPATH": str(folder)}
        process = subprocess.Popen(command, env={**os.environ, **secrets, **found}, stdout=output, stderr=output)
        try:
            yield log
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=90)


@pytest.mark.parametrize("mode", ["socket", "http"])
def test_a_command_is_answered_in_either_mode(tmp_path: Path, mode: str) -> None:
    """The same handlers serve Socket Mode and signed HTTP; an unknown table is answered in three parts."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Workspace().serve() as slack, serving(tmp_path, slack, mode, port) as log:
        ana = slack.person("ana")
        if mode == "http":
            slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        eventually(lambda: "Waterline is here" in log.read_text(), timeout_s=40)
        if mode == "socket":
            eventually(lambda: slack.connected > 0)

        eventually(lambda: ana.types("/waterline help").outcome == "acked")
        ana.types("/waterline commits")

        assert "open an incident on a table" in ana.waits_for("/waterline open", timeout=90).plain
        answer = ana.waits_for("There is no table sales.orders", timeout=90).plain
        assert "Check the name in the configuration" in answer


@pytest.mark.parametrize("mode", ["socket", "http"])
def test_what_comes_while_the_bot_still_starts_is_acknowledged_and_answered_later(tmp_path: Path, mode: str) -> None:
    """Catalogs and actions take seconds to import; nobody who clicks meanwhile sees Slack's warning."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert EXAMPLE is not None
    (tmp_path / "restore_nothing.py").write_text(EXAMPLE[1] + SLOW_ACTION, encoding="utf-8")
    with Workspace().serve() as slack, serving(tmp_path, slack, mode, port, own="restore_nothing") as log:
        ana = slack.person("ana")
        if mode == "http":
            slack.deliver_to(f"http://127.0.0.1:{port}/slack/events")
        eventually(lambda: ana.types("/waterline help").outcome == "acked", timeout_s=40)
        ana.types("/waterline help")
        ana.says("Are there rows twice in sales.orders?")
        started_before = "Waterline is here" in log.read_text()
        told_before = [message for message in ana.messages() if "open an incident on a table" in message.plain]
        (tmp_path / "go").touch()

        assert "open an incident on a table" in ana.waits_for("/waterline open", timeout=40).plain
        assert not started_before
        assert told_before == []


def test_a_token_that_expired_is_named_with_what_to_do(tmp_path: Path) -> None:
    """The bot does not start half: it says which secret is refused and where to look."""
    with Workspace().serve() as slack, serving(tmp_path, slack, "socket", token="xoxb-expired") as log:
        eventually(lambda: "SLACK_BOT_TOKEN" in log.read_text(), timeout_s=40)

        assert "Slack does not accept the bot token.\nauth.test answered: invalid_auth." in log.read_text()


def ended(folder: Path, *told: str, instead: str = "") -> tuple[int, str]:
    """(Exit code, what it said) of a bot that cannot start. `instead`: what is put in place first, as Python."""
    run = f"import bot.cli.serve as serve\n{instead}\nfrom bot.cli import main\nmain()"
    command = [sys.executable, "-c", run, "serve", "--config", str(folder / "waterline.yaml"), *told]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stderr


def test_a_start_that_fails_is_one_line_where_logs_are_json(tmp_path: Path) -> None:
    """And three lines for people where they are text."""
    (tmp_path / "waterline.yaml").write_text("home: 1\n")

    (code, line), (code_too, text) = ended(tmp_path, "--logs", "json"), ended(tmp_path)

    said = json.loads(line)
    assert (code, code_too, said["level"]) == (1, 1, "critical")
    assert "waterline.yaml:1: home" in said["event"]
    assert [said["event"], said["found"], said["remedy"]] == text.splitlines()


def test_an_unforeseen_error_is_one_line_too(tmp_path: Path) -> None:
    """With its traceback in a field."""
    code, line = ended(tmp_path, "--logs", "json", instead="serve._serve = lambda *_: 1 / 0")

    assert (code, json.loads(line)["level"]) == (1, "critical")
    assert "ZeroDivisionError" in json.loads(line)["exception"]
