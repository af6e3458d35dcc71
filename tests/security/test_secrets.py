"""Secrets come from the environment or from files, and are written and sent nowhere."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from bot.adapters.journal_sql import open_store
from bot.adapters.saved_case import write_case
from bot.observation.errors import BadConfiguration
from bot.observation.masking import MASK, Masking
from bot.settings import SlackSecrets, masking
from bot.workspace import Workspace
from tests.incidents import Story
from tests.patient_slack import PATIENT
from tests.slack.people import eventually
from tests.terminal.test_saved_case import saved_case

MARK = "M4rk3dS3cr3t"
"""In every secret of these tests; looked for in everything that was written."""
PASSWORD = f"{MARK}-p@ss/word"


@pytest.fixture(autouse=True)
def no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine's environment holds is not the test's."""
    for name in SlackSecrets.model_fields:
        monkeypatch.delenv(name.upper(), raising=False)
        monkeypatch.delenv(f"{name.upper()}_FILE", raising=False)


def test_a_secret_may_stand_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an orchestrator mounts it: the environment names the file, its last line end does not count."""
    (tmp_path / "bot").write_text(f"xoxb-{MARK}\n")
    monkeypatch.setenv("SLACK_BOT_TOKEN_FILE", str(tmp_path / "bot"))

    token = SlackSecrets().slack_bot_token

    assert token.get_secret_value() == f"xoxb-{MARK}"
    assert MARK not in repr(SlackSecrets())


def test_a_secret_that_is_given_twice_or_cannot_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bot does not guess which one counts, and tells neither."""
    monkeypatch.setenv("SLACK_BOT_TOKEN_FILE", str(tmp_path / "gone"))
    with pytest.raises(BadConfiguration, match="SLACK_BOT_TOKEN cannot be read"):
        SlackSecrets.for_mode("socket")
    monkeypatch.setenv("SLACK_BOT_TOKEN", f"xoxb-{MARK}")

    with pytest.raises(BadConfiguration, match="given twice") as refused:
        SlackSecrets.for_mode("socket")

    assert MARK not in str(refused.value)


def test_a_password_that_is_a_word_does_not_blot_out_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masking `orders` everywhere would tell the password and hide the table."""
    monkeypatch.setenv("DB_PASSWORD", "orders")
    monkeypatch.setenv("OTHER_PASSWORD", f"{MARK}x")

    masked = masking()

    assert masked.text("sales.orders moved") == "sales.orders moved"
    assert masked.text(f"{MARK}x and password=orders") == f"{MASK} and password={MASK}"


def test_neither_journal_nor_messages_nor_cases_hold_a_secret(tmp_path: Path) -> None:
    """Whatever an error quotes and a person pastes: the files hold none of it, and the chain of what they hold fits."""
    masked = Masking([PASSWORD, f"{MARK}-key"])
    store = open_store(f"sqlite:///{tmp_path / 'record.db'}", masked)
    story = (
        Story(store.journal)
        .opens(f"It says {PASSWORD} and https://u:{MARK}@h/")
        .answers(headline=f"Refused: {MARK}-key.", rows=((f"key={MARK}-key", "2"),))
    )
    write_case(tmp_path / "a.json", saved_case().model_copy(update={"version": f"0.1.0 {PASSWORD}"}), masked)
    faults = store.journal.verify()
    store.close()

    assert story.incident.opened.summary == f"It says {MASK} and https://u:{MASK}@h/"
    assert faults == ()
    assert holding(tmp_path) == []


@pytest.mark.full
def test_a_running_bot_writes_and_sends_no_secret(tmp_path: Path) -> None:
    """A whole process with marked secrets in its environment, its files and its configuration: a source fails with an
    address that holds one, somebody pastes another into a command, and everything that was written is searched."""
    with Workspace(rules=PATIENT).serve() as slack:
        config = tmp_path / "waterline.yaml"
        with config.open("w") as file:
            YAML().dump(configuration(tmp_path, slack.api_url), file)
        mounted = tmp_path / "mounted-secret"
        mounted.write_text(slack.app_token)
        log = tmp_path / "bot.log"
        environment = {
            **os.environ, "SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN_FILE": str(mounted),
            "SLACK_SIGNING_SECRET": f"{MARK}-signing", "AWS_SECRET_ACCESS_KEY": f"{MARK}-aws",
        }  # fmt: skip
        command = [sys.executable, "-m", "bot.cli", "serve", "--no-warm", "--config", str(config)]
        with log.open("wb") as output:
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
            try:
                eventually(lambda: slack.connected > 0, timeout_s=90)
                ana = slack.person("ana")
                ana.types("/waterline open")
                ana.types(f"/waterline commits {MARK}-aws")
                ana.waits_for(f"is not set up for a table {MASK}", timeout=90)
                ana.types(f"/waterline commits {slack.bot_token}")
                ana.types("/waterline commits")
                ana.waits_for("refused", timeout=90)
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=90)
        said = [m.plain for m in ana.messages() if m.is_ephemeral]

    config.unlink()
    mounted.unlink()
    assert [text for text in said if MARK in text or slack.bot_token in text] == []
    assert holding(tmp_path) == []
    assert holding(tmp_path, slack.bot_token, slack.app_token) == []


@pytest.mark.parametrize("form", ["TEXT", "JSON"])
def test_the_log_is_masked_also_where_a_library_writes_it(form: str) -> None:
    """The standard library's logging, with a traceback, goes through the same masking as our own lines."""
    code = (
        "import logging, structlog\n"
        "from bot.cli.serve import Logs, log_to_stderr\n"
        "from bot.observation.masking import Masking\n"
        f"log_to_stderr(Masking(['{MARK}']), Logs.{form})\n"
        "structlog.get_logger('ours').warning('ours', problem='x {0} y')\n"
        "try:\n    raise ValueError('{0}')\n"
        "except ValueError:\n    logging.getLogger('theirs').exception('theirs %s', '{0}')\n"
    ).replace("{0}", MARK)

    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    written = ran.stdout + ran.stderr
    assert MARK not in written
    assert "ours" in written
    assert "theirs" in written
    assert "ValueError" in written
    if form == "JSON":
        assert [json.loads(line)["level"] for line in written.splitlines()] == ["warning", "error"]


def configuration(folder: Path, api_url: str) -> dict[str, object]:
    """Every place of the configuration that can hold a secret holds a marked one."""
    return {
        "home": "home",
        "catalog": {
            "name": "lake",
            "properties": {
                "type": "rest", "uri": f"http://waterline:{MARK}@127.0.0.1:9/catalog",
                "credential": f"client:{MARK}-client", "s3.secret-access-key": f"{MARK}-s3", "token": f"{MARK}-token",
            },
        },
        "jobs": {"orders": {"flink": f"http://waterline:{MARK}-flink@127.0.0.1:9"}},
        "lineage": {"marquez": f"http://waterline:{MARK}-marquez@127.0.0.1:9"},
        "tables": {
            "sales.orders": {
                "job": "orders", "contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}
            }
        },
        "slack": {"mode": "socket", "base_url": api_url, "min_message_interval": 0},
        "web": {"port": 0, "pages": False},
    }  # fmt: skip


def holding(folder: Path, *marks: str) -> list[str]:
    """Files under this folder that hold a mark, as it is or as JSON and addresses write it."""
    wanted = [mark.encode() for mark in marks or (MARK,)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path.name) for path in files if any(mark in path.read_bytes() for mark in wanted)]
