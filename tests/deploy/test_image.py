"""The image, built and run for real: small, restricted, and a whole bot."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from ruamel.yaml import YAML

from bot.adapters.spark_server import SparkServer
from bot.cli.demo import HERE
from bot.lab.lab import Lab
from bot.workspace import Workspace
from tests.adapters.lake import Lake
from tests.adapters.serving import unused_address
from tests.deploy.image import PROJECT, USER, build, file_of, running, unpacked
from tests.postgres import Postgres
from tests.slack.people import eventually
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]
LARGEST = 800
"""Megabytes of the unpacked image that asks a Spark elsewhere."""
COMPOSE = YAML(typ="safe").load(PROJECT / "deploy/compose.yaml")["services"]["waterline"]
STORY = "restored-from-older-savepoint"
EVIDENCE = ("waterline", "evidence", "duplicate_rows", "sales.orders", "--config", "/etc/waterline/waterline.yaml")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpacked(build("client"), tmp_path_factory.mktemp("client"))


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """Its folder is at the same path in the container, and the container's user may write there."""
    made = Lake(tmp_path)
    made.append(1, 2, 2)
    yield made
    made.close()


def configured(folder: Path, lake: Lake, pages: str, slack: str = "https://slack.com/api/") -> dict[str, Path]:
    """The configuration at its place, and what else is mounted."""
    content = {
        "home": "/var/lib/waterline",
        "catalog": {"name": "lake", "properties": lake.properties},
        "tables": {
            "sales.orders": {
                "contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}
            }
        },
        "slack": {"base_url": slack, "min_message_interval": 0},
        "web": {"port": int(pages.rpartition(":")[2])},
    }  # fmt: skip
    for name in ("etc", "home"):
        (folder / name).mkdir()
    with (folder / "etc/waterline.yaml").open("w") as file:
        YAML().dump(content, file)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)
    return {
        "/etc/waterline": folder / "etc", "/etc/hosts": Path("/etc/hosts"), "/var/lib/waterline": folder / "home",
        str(folder): folder,
    }  # fmt: skip


def test_it_is_small_and_nobody_special_runs_it(client: Path) -> None:
    """What the tests, the build and Java need is not in it."""
    config = json.loads((client / "config.json").read_text())
    packages = {each.name for each in client.glob("rootfs/opt/waterline/lib/python3*/site-packages/*")}
    size = int(subprocess.run(["du", "-sm", client], capture_output=True, check=True, text=True).stdout.split()[0])

    assert config["process"]["user"]["uid"] == USER
    assert size < LARGEST
    assert {"bot", "spark_tasks", "pyspark"} <= packages
    assert not {"pip", "pytest", "mypy", "moto", "hatchling"} & packages
    assert not list(client.glob("rootfs/opt/waterline/lib/python3*/site-packages/pyspark/jars"))


def test_the_bot_runs_in_it_on_a_read_only_root_and_ends_in_good_order(
    client: Path, tmp_path: Path, lake: Lake
) -> None:
    """It gets ready, answers a person, and ends by itself when it is told to."""
    pages, log = unused_address(), tmp_path.parent / f"{tmp_path.name}.log"
    with Workspace().serve() as slack:
        mounts = configured(tmp_path, lake, pages, slack.api_url)
        env = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
        serve = ("waterline", "serve", "--no-warm", "--config", "/etc/waterline/waterline.yaml")
        with running(client, serve, mounts=mounts, env=env, log=log) as process:
            eventually(lambda: is_ready(pages) or process.poll() is not None, timeout_s=120)
            running_log = log.read_text()
            assert process.poll() is None, running_log
            ana = slack.person("ana")
            ana.types("/waterline help")
            answer = ana.waits_for("/waterline open", timeout=60).plain
            process.send_signal(signal.SIGTERM)  # runc hands it on
            code = process.wait(timeout=90)

    assert "open an incident on a table" in answer
    assert code == 0
    assert "Traceback" not in log.read_text()


def is_ready(pages: str) -> bool:
    try:
        return httpx.get(f"{pages}/readyz", timeout=20, trust_env=False).is_success
    except httpx.TransportError:
        return False


def test_without_java_it_collects_evidence_by_a_spark_elsewhere(
    client: Path, tmp_path: Path, lake: Lake, server: SparkServer
) -> None:
    """The client of Spark Connect alone is enough."""
    mounts, log = configured(tmp_path, lake, unused_address()), tmp_path.parent / f"{tmp_path.name}.log"
    with running(client, EVIDENCE, mounts=mounts, env={"SPARK_REMOTE": server.url}, log=log) as process:
        code = process.wait(timeout=300)

    assert code == 0, log.read_text()
    assert "o-2" in log.read_text()


@pytest.fixture
def broken(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incident]:
    """A table on Kafka, S3 and a REST catalog with rows twice, and a workspace; the container's user owns the files."""
    with Lab(tmp_path_factory.mktemp("lab"), say=lambda _line: None, stack="kafka") as lab:
        lab.start()
        lab.tell(STORY)
        with incident(lab, tmp_path) as world:
            for path in (tmp_path, *tmp_path.rglob("*")):
                os.chown(path, USER, USER)
            yield world


@contextmanager
def bot_in(image: Path, world: Incident) -> Iterator[str]:
    """The name of a container in which the bot works, begun as the image begins by itself."""
    name, log = f"waterline-{uuid4().hex[:8]}", world.folder.with_suffix(".log")
    state, slack = world.lab.state, world.workspace
    mounts = {"/etc/waterline": world.folder, "/etc/hosts": Path("/etc/hosts")}
    mounts[str(state.lineage_path.parent)] = state.lineage_path.parent
    env = {**state.environment, "SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token}
    started = json.loads((image / "config.json").read_text())["process"]["args"]
    with running(image, started, mounts=mounts, env=env, log=log, name=name) as process:
        eventually(lambda: HERE in log.read_text() or process.poll() is not None, timeout_s=120)
        assert process.poll() is None, log.read_text()
        yield name


def test_it_recovers_a_table_on_kafka_and_s3_though_it_is_killed_meanwhile(client: Path, broken: Incident) -> None:
    """A whole incident on a real cluster, walked through what Slack shows. The container is killed in the middle of
    the repair; the next one finds in the record what it was doing. It asks the lab's Spark, and has none of its own."""
    with bot_in(client, broken) as container:
        broken.walk(STORY, stop_at="Execute")
        broken.until(lambda: bool(broken.journal("effect-ended")))
        subprocess.run(["runc", "kill", container, "KILL"], check=True)
    unfinished = broken.journal("execution-ended") == []
    with bot_in(client, broken):
        broken.workspace.person("ana").waits_for("Verified at head", timeout=300)
        clicked = broken.goes_on(STORY)
    proof = broken.lab.proof()

    assert unfinished
    assert len(broken.journal("execution-started")) == 1
    assert [entry["outcome"] for entry in broken.journal("execution-ended")] == ["applied"]
    assert clicked[-1] == "Close…"
    assert proof.is_exactly_once, proof.lines
    assert len(proof.partitions) == 3


def test_the_trial_of_compose_gets_ready_and_brings_a_spark_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, lake: Lake, postgres: Postgres
) -> None:
    """The target with Java, as compose.yaml starts it: its variables, its folders in memory, its health check, and
    trial.yaml with places that are here. The jars are in the image: nothing is fetched into the read-only root."""
    bundle = unpacked(build(COMPOSE["build"]["target"]), tmp_path_factory.mktemp("spark"))
    pages, log, name = unused_address(), tmp_path.parent / f"{tmp_path.name}.log", f"trial-{tmp_path.name}"
    port, record = pages.rpartition(":")[2], postgres.new_database()
    probe = ("sh", "-c", COMPOSE["healthcheck"]["test"].replace("8370", port))
    Path(record.rpartition("=")[2]).chmod(0o755)  # of the database's socket: the container's user has to reach it
    with Workspace().serve() as slack:
        filled_in(tmp_path, lake, record, int(port), slack.api_url)
        mounts = {
            "/etc/waterline": tmp_path / "etc", "/etc/hosts": Path("/etc/hosts"), str(tmp_path): tmp_path,
            (socket := record.rpartition("=")[2]): Path(socket),
        }  # fmt: skip
        secrets = {"SLACK_BOT_TOKEN": slack.bot_token, "SLACK_APP_TOKEN": slack.app_token, "WATERLINE_WEB_TOKEN": "t"}
        env = {variable: value or secrets[variable] for variable, value in COMPOSE["environment"].items()}
        folders = dict(each.split(":") for each in COMPOSE["tmpfs"])
        started = json.loads((bundle / "config.json").read_text())["process"]["args"]
        with running(bundle, started, mounts=mounts, env=env, log=log, memory=folders, name=name) as process:
            eventually(lambda: within(name, probe).returncode == 0 or process.poll() is not None, timeout_s=180)
            healthy = within(name, probe)
            collected = within(name, EVIDENCE)

    assert healthy.returncode == 0, log.read_text()
    assert collected.returncode == 0, collected.stdout + collected.stderr
    assert "o-2" in collected.stdout


def filled_in(folder: Path, lake: Lake, record: str, port: int, slack: str) -> None:
    """trial.yaml as somebody fills it in; only the port and the address of the database are others."""
    trial = YAML(typ="safe").load(PROJECT / "deploy/trial.yaml")
    (table,) = trial["tables"].values()
    trial["catalog"]["properties"] = lake.properties
    trial["tables"] = {"sales.orders": {**table, "contract": {"key": ["order_id"]}}}
    trial["journal"]["url"], trial["web"]["port"] = record, port
    trial["slack"] = {"base_url": slack, "min_message_interval": 0}
    (folder / "etc").mkdir()
    with (folder / "etc/waterline.yaml").open("w") as file:
        YAML().dump(trial, file)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER, USER)


def within(container: str, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """One more process in a container that runs, as Compose starts a health check."""
    return subprocess.run(["runc", "exec", container, *command], capture_output=True, text=True, check=False)


def test_the_list_of_packages_is_that_of_the_lock() -> None:
    """Each one with its version, and Waterline itself; in CycloneDX."""
    listed = json.loads(file_of(build("sbom"), "sbom.json"))
    locked = re.findall(r"^([a-z0-9.-]+)==(\S+)", (PROJECT / "deploy/requirements.lock").read_text(), re.MULTILINE)

    names = {(re.sub("[-_.]+", "-", each["name"].lower()), each["version"]) for each in listed["components"]}

    assert listed["bomFormat"] == "CycloneDX"
    assert names - {("waterline", "0.1.0")} == set(locked)
    assert listed["metadata"]["component"]["name"] == "waterline"
