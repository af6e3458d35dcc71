"""The trial with Compose, run by an engine as the page says: two containers, a network of their own, a volume."""

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from bot.workspace import Workspace, server
from tests.adapters.kubernetes import cannot_be_had
from tests.adapters.lake import Lake
from tests.deploy.image import BUILD, PROJECT, USER, build, build_postgres
from tests.docs.blocks import blocks, commands
from tests.slack.people import eventually

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
COMPOSE = "podman-compose"
TOOLS = "podman, podman-compose, netavark, aardvark-dns and iptables"
PROJECT_NAME = "waterline-trial-test"
SERVICE = f"{PROJECT_NAME}_waterline_1"
LIMITS = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n[engine]\nruntime = "runc"\n'
"""Podman raises limits, which root may not do everywhere."""
BACKEND = '[network]\nnetwork_backend = "netavark"\n'
NETWORK = f"{PROJECT_NAME}_default"


class Trial:
    """A checkout of its own with the files of the trial."""

    def __init__(self, folder: Path, images: Mapping[str, str]) -> None:
        self.folder = folder / "checkout"
        (self.folder / "deploy").mkdir(parents=True)
        shutil.copy(PROJECT / "deploy/compose.yaml", self.folder / "deploy")
        conf = folder / "containers.conf"
        conf.write_text(LIMITS + BACKEND)
        self._env = {**os.environ, "CONTAINERS_CONF": str(conf), "WATERLINE_IMAGE": images["waterline"]}
        self._db = images["db"]

    def configured(self, lake: Lake, slack: Workspace) -> None:
        """trial.yaml as somebody fills it in, with a catalog and a Slack that are here."""
        trial = yaml.safe_load((PROJECT / "deploy/trial.yaml").read_text())
        (table,) = trial["tables"].values()
        trial["catalog"]["properties"] = lake.properties
        trial["tables"] = {"sales.orders": {**table, "contract": {"key": ["order_id"]}}}
        trial["slack"] = {"base_url": slack.api_url, "min_message_interval": 0}
        (self.folder / "waterline.yaml").write_text(yaml.safe_dump(trial))
        lies = lake.file.parent
        for path in (lies, *lies.rglob("*")):
            os.chown(path, USER, USER)
        services = {"db": {"image": self._db}, "waterline": {"volumes": [f"{lies}:{lies}"]}}
        (self.folder / "here.yaml").write_text(yaml.safe_dump({"services": services}))
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "WATERLINE_WEB_TOKEN": "t"}
        self._env |= secrets

    def compose(self, line: str) -> "subprocess.CompletedProcess[str]":
        """A line of the page, after `podman compose --file deploy/compose.yaml`."""
        here = ("--project-name", PROJECT_NAME, "--file", "deploy/compose.yaml", "--file", "here.yaml")
        return self._ran(COMPOSE, *here, *shlex.split(line))

    def podman(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return self._ran("podman", *arguments)

    def is_healthy(self) -> bool:
        """By the health check of the file; without systemd podman runs it only when it is asked to."""
        return self.podman("healthcheck", "run", SERVICE).returncode == 0

    def _ran(self, *command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(command, cwd=self.folder, env=self._env, capture_output=True, text=True, check=False)


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    """Its network is up, with this machine as the gateway, where Slack's stand-in listens."""
    missing = [tool for tool in ("podman", COMPOSE, "iptables") if shutil.which(tool) is None]
    images = {"waterline": build("spark"), "db": build_postgres()}
    if missing:
        cannot_be_had(f"Debian's {TOOLS} run the trial; missing: {missing}", BUILD)
    made = Trial(tmp_path, images)
    made.podman("network", "create", NETWORK)
    begun = made.podman("run", "--detach", "--network", NETWORK, images["db"], "sleep", "3600")
    assert begun.returncode == 0, begun.stderr
    subnet = made.podman("network", "inspect", NETWORK, "--format", "{{range .Subnets}}{{.Gateway}}{{end}}")
    gateway = subnet.stdout.strip()
    assert gateway, subnet.stderr
    monkeypatch.setattr(server, "LOOPBACK", gateway)
    monkeypatch.setattr(server, "_HOSTS", (gateway,))
    yield made
    made.compose("down --volumes")
    made.podman("rm", "--force", begun.stdout.strip())
    made.podman("network", "rm", "--force", NETWORK)


def test_podman_compose_runs_the_trial_as_the_page_says(trial: Trial, tmp_path: Path) -> None:
    """It gets ready, answers in Slack, and still knows everything after it was killed: the record is in PostgreSQL."""
    typed = [line for block in blocks("console", under="deploy/README.md") for line in commands(block)]
    up, doctor = (line for line in typed if line.startswith("podman compose "))
    (tmp_path / "lake").mkdir()
    lake = Lake(tmp_path / "lake")
    lake.append(1, 2)
    with Workspace().serve() as slack:
        trial.configured(lake, slack)
        started = trial.compose(of_page(up).replace(" --build", ""))
        eventually(trial.is_healthy, timeout_s=300)
        looked = trial.compose(of_page(doctor))
        ana = slack.person("ana")
        ana.types("/waterline help")
        answer = ana.waits_for("/waterline open", timeout=60).plain
        killed = trial.podman("kill", SERVICE)
        again = trial.compose("up --detach")
        eventually(trial.is_healthy, timeout_s=300)
        ana.types("/waterline commits")
        after = ana.waits_for("sales.orders", timeout=60).plain
    lake.close()

    assert started.returncode == 0, started.stderr
    assert re.search(r"ok +│ record", looked.stdout), looked.stdout
    assert "open an incident on a table" in answer
    assert (killed.returncode, again.returncode) == (0, 0)
    assert after


def of_page(line: str) -> str:
    """Without the program and the file."""
    return line.removeprefix("podman compose --file deploy/compose.yaml ")
