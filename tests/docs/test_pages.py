"""Every example of the pages does what the page says: configurations load, commands run, messages exist."""

import ast
import configparser
import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import structlog
from ruamel.yaml import YAML
from typer.core import TyperCommand
from typer.testing import CliRunner

import spark_tasks
from bot import actions
from bot.actions._support.completing import scan as find_actions
from bot.adapters.spark_server import SparkServer
from bot.cli import app
from bot.cli.on_demand import LATE
from bot.evidence import find_tasks
from bot.history.prediction import RestoreCheck
from bot.incident.asked import typed_proposal
from bot.notices import scan as find_notices
from bot.settings import Settings
from bot.settings.secrets import Secrets
from bot.slack.commands import VERBS
from bot.slack.requests import AGAIN
from bot.web.alerts import SHAPES
from bot.web.trust_api import openapi_json
from tests.actions.scene import Scene as FlinkScene
from tests.docs.blocks import Block, blocks, commands, mentions, messages, quoted
from tests.docs.site import ROOT
from tests.little_flink import JOB
from tests.tables import job
from tests.web.scene import Scene

BASE: Mapping[str, Any] = {
    "home": "home",
    "catalog": {"name": "lake", "properties": {"type": "rest", "uri": "http://iceberg-catalog:8181"}},
    "jobs": {"orders-to-iceberg": {"flink": "http://flink:8081", "kafka": {"servers": "k:9092", "topics": ["orders"]}}},
    "tables": {
        "sales.orders": {
            "job": "orders-to-iceberg",
            "contract": {"key": ["order_id"], "position": "source_offset", "position_partition": "source_partition"},
            "policies": {"default": {"users": ["U0BEN00001", "U0CLEO0001"]}},
        }
    },
}
"""What an example that shows a part of a configuration is a part of."""
ELSEWHERE = {
    "serve": "tests/serve",
    "tour": "tests/docs/test_tutorial.py",
    "demo": "tests/browser, and tests/docs/test_lab.py",
    "lab": "tests/docs/test_lab.py",
    "doctor": "test_what_reads_rows_runs_on_spark",
    "diagnose": "test_what_reads_rows_runs_on_spark",
    "commits": "test_what_reads_rows_runs_on_spark",
}
"""Commands that end only when somebody stops them, or need more than a table: where they are run."""
HELM = {"install", "upgrade", "rollback", "history", "test"}
"""Commands of Helm on the pages."""
IMAGE = "registry.example.com/waterline:0.1.0"
RESTORE = "docs/how-to/back-up.md"
OF_OTHERS = {
    "mv home/journal.db journal.old",
    "systemctl stop waterline",
    "systemctl start waterline",
    "pip install .",
    "make install",
    "python3 -m venv .venv",
    "source .venv/bin/activate",
    "export WATERLINE_CONFIG=.cache/demo/waterline.yaml",
}
"""What is done before any test can run; `tests/deploy/test_host.py` runs the installation."""


def _configured(example: Mapping[str, Any]) -> dict[str, Any]:
    """The example within a whole configuration. What it says of a job or table is added to that job or table."""
    if set(example) <= {"start"}:
        example = {"jobs": {"orders-to-iceberg": example}}
    elif set(example) <= {"consumers", "replay"}:
        example = {"tables": {"sales.orders": example}}
    whole = {**BASE, **example}
    for part in ("jobs", "tables"):
        own = example.get(part, {})
        whole[part] = {**BASE[part], **{name: {**BASE[part].get(name, {}), **own[name]} for name in own}}
    return whole


@pytest.mark.parametrize("block", blocks("yaml"), ids=lambda block: block.place)
def test_an_example_of_yaml_is_understood(block: Block, tmp_path: Path) -> None:
    """As Waterline's configuration, or as that of whoever asks it."""
    example = YAML(typ="safe").load(block.text)
    example = example.get("config", example)  # of the chart's values

    if "on" in example:
        (job,) = example["jobs"].values()
        _is_understood(next(step["run"] for step in job["steps"] if "run" in step), tmp_path)
    elif "receivers" in example:
        (url,) = [each["url"] for receiver in example["receivers"] for each in receiver["webhook_configs"]]
        assert url.removeprefix("https://waterline.acme.example") in json.loads(openapi_json(SHAPES))["paths"]
    elif "spec" in example:
        (container,) = example["spec"]["jobManager"]["podTemplate"]["spec"]["initContainers"]
        _is_accepted(container["args"])
    else:
        file = tmp_path / "waterline.yaml"
        with file.open("w", encoding="utf-8") as output:
            YAML().dump(_configured(example), output)
        Settings.load(file)


def test_the_first_line_for_editors_names_the_schema_that_the_page_has_people_write() -> None:
    """Beside the configuration."""
    page = "docs/how-to/check-the-configuration.md"
    (named,) = re.findall(r"\$schema=(\S+)", "".join(block.text for block in blocks("yaml", under=page)))

    lines = [line for block in blocks("console", under=page) for line in commands(block)]

    assert f"waterline check-config --schema > {named}" in lines


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.place)
def test_an_example_of_python_is_understood(block: Block) -> None:
    """A function of the reader's own, with the session and the bounds that Waterline hands in."""
    (function,) = ast.parse(block.text).body

    assert isinstance(function, ast.FunctionDef)
    assert [each.arg for each in function.args.args] == ["spark", "bounds"]
    compile(block.text, block.place, "exec")


@pytest.mark.parametrize("block", blocks("ini"), ids=lambda block: block.place)
def test_a_unit_of_systemd_starts_a_command_that_there_is(block: Block) -> None:
    """Where the page has people install it."""
    unit = configparser.ConfigParser()
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(block.text)

    start = _waterline(unit["Service"]["ExecStart"])

    assert start is not None
    _is_accepted(start)
    assert f"python3 -m venv {Path(unit['Service']['ExecStart'].split()[0]).parents[1]}" in {
        line for _place, line in _asked()
    }


@pytest.mark.parametrize("block", blocks("properties"), ids=lambda block: block.place)
def test_properties_of_spark_have_a_name_and_a_value(block: Block) -> None:
    """One a line, as spark-defaults.conf has them."""
    for line in block.text.splitlines():
        name, value = line.split(None, 1)
        assert name.startswith("spark.")
        assert value == value.strip()


@pytest.mark.parametrize("block", blocks("json"), ids=lambda block: block.place)
def test_an_example_of_json_is_understood(block: Block) -> None:
    """An answer has the fields of its model; a setting of an agent names the address that there is."""
    example = json.loads(block.text)

    if "mcpServers" in example:
        assert example["mcpServers"]["waterline"]["url"].endswith("/mcp")
    else:
        assert json.loads(RestoreCheck.model_validate_json(block.text).model_dump_json()).keys() == example.keys()


def _asked() -> Iterator[tuple[str, str]]:
    for block in (*blocks("console"), *blocks("")):
        for line in commands(block):
            if "waterline " in line or block.language == "console":
                yield block.place, line


def _waterline(line: str) -> list[str] | None:
    """Its arguments, also of one that runs in a container; None for a command of others."""
    words = shlex.split(line.partition(" > ")[0])
    if words[0] == "kubectl" and "--" in words:
        words = words[words.index("--") + 1 :]
    elif words[:2] == ["podman", "compose"] and "exec" in words:
        words = words[words.index("exec") + 2 :]
    return words[1:] if Path(words[0]).name == "waterline" else None


@pytest.mark.parametrize(("line", "place"), list({line: (line, place) for place, line in _asked()}.values()))
def test_a_command_is_one_that_there_is(line: str, place: str) -> None:
    """Whatever a page has people type is understood, with each of its options."""
    arguments = _waterline(line)

    if arguments is not None:
        _is_accepted(arguments)
    elif line.startswith("make "):
        assert f"\n{line.split()[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
    elif line.startswith("echo "):
        assert subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True).stdout.strip()
    else:
        assert line in OF_OTHERS or _is_of_an_operator(line)


def _is_accepted(arguments: list[str]) -> None:
    """By its command, which is parsed to its end and not run: nothing is missing, and nothing is there too much."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TyperCommand.__base__, "invoke", lambda _command, _context: None)
        told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output


def _is_of_an_operator(line: str) -> bool:
    """Whether what a command of others names is there: files, targets of the image, secrets, the chart's deployment.
    Helm's own are run by tests/deploy/test_chart.py."""
    words = shlex.split(line.partition(" > ")[0])
    files = [value for option, value in pairwise(words) if option in ("--file", "-r")]
    targets = [value for option, value in pairwise(words) if option == "--target"]
    secrets = re.findall(r"(?:--from-literal=| )([A-Z_]+)=", line)
    known = {name.upper() for kind in Secrets.__subclasses__() for name in kind.model_fields} | {"PGPASSWORD"}
    containerfile = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8")
    assert all((ROOT / file).is_file() for file in files)
    assert all(f" AS {target}\n" in containerfile for target in targets)
    assert set(secrets) <= known
    match words:
        case ["helm", command, *_]:
            return command in HELM
        case ["kubectl", "exec", "--namespace", "waterline", "deploy/waterline", "--", ("cat" | "rm"), copy]:
            return f"--to {copy} " in "".join(block.text for block in blocks("console"))
        case ["kubectl", "create", ("namespace" | "secret"), *_]:
            return True
        case ["buildah", ("build" | "push"), *_] | ["export", *_]:
            return True
        case ["podman", "compose", "--file", "deploy/compose.yaml", ("up" | "down"), *_]:
            return True
        case ["cp", file, _]:
            return (ROOT / file).is_file()
        case [*_, "-m", "venv", _] | [*_, "install", "--no-deps", "--no-build-isolation", "."]:
            return True
        case [pip, "install", "--require-hashes", "-r", _] | [pip, "install", "--require-hashes", "-r", _, "-r", _]:
            return pip.endswith("/pip")
    return False


def _is_understood(line: str, folder: Path) -> None:
    """A line that runs the image: with its mount in the place of that folder, it ends with code 0."""
    words = shlex.split(line)
    mounted = words[words.index("--volume") + 1].split(":")[1]
    _write(folder, {"type": "rest", "uri": "http://iceberg-catalog:8181"}, "sqlite:///record.db")

    told = CliRunner().invoke(app, [each.replace(mounted, str(folder)) for each in words[words.index(IMAGE) + 1 :]])

    assert told.exit_code == 0, told.output


@pytest.mark.parametrize(("line", "place"), mentions("waterline").items())
def test_a_command_within_a_sentence_is_one_that_there_is(line: str, place: str) -> None:
    """With its options and arguments, or its name alone; words in capitals stand for values."""
    words = line.removesuffix(" …").split()

    _is_accepted([*words, "--help"] if all(word.islower() and "-" != word[0] for word in words) else words)


@pytest.mark.parametrize(("line", "place"), mentions("/waterline").items())
def test_what_people_type_in_slack_is_a_subcommand(line: str, place: str) -> None:
    """And what it names is there: an action that takes what is chosen for it, a kind of notice, an evidence task."""
    verb, _, rest = line.partition(" ")
    name = rest.split(" ")[0]

    assert verb in VERBS
    if name.islower() and verb == "propose":
        typed, action = typed_proposal(rest), find_actions(actions)[name].action
        assert typed.reason == ""
        assert bool(typed.bounds) <= action.takes_bounds
        assert typed.drops_others <= action.drops_others
    elif name.islower() and verb == "notify":
        assert name in {AGAIN, *find_notices(ROOT / "messages")}
    elif name.islower() and verb == "run":
        assert name in find_tasks(spark_tasks)


def test_sentences_have_been_read() -> None:
    """By the two tests above."""
    assert {"open", "propose", "status", "notify"} <= {line.split()[0] for line in mentions("/waterline")}
    assert {"evidence", "restore-check", "record"} <= {line.split()[0] for line in mentions("waterline")}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with `waterline.yaml`, where an incident has been opened, proven and closed. Tests run in it."""
    folder = tmp_path_factory.mktemp("deployment")
    scene = Scene(folder)
    scene.opens().diagnoses().proposes().verifies().closes()
    _write(folder, scene.catalog_properties, scene.journal_url)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder
    structlog.reset_defaults()
    scene.close()


def _write(folder: Path, catalog: Mapping[str, str], journal: str, **more: Any) -> None:
    table = {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
    content = {
        "home": str(folder / "home"),
        "journal": {"url": journal},
        "catalog": {"name": "lake", "properties": dict(catalog)},
        "tables": {"sales.orders": {**table, **more.pop("table", {})}},
        **more,
    }
    with (folder / "waterline.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(content, file)


def _runs_here() -> list[str]:
    lines = dict.fromkeys(line for place, line in _asked() if RESTORE not in place)
    return [line for line in lines if (_waterline(line) or ["doctor"])[0] not in {*ELSEWHERE, "restore-check"}]


@pytest.mark.parametrize("line", _runs_here())
def test_a_command_of_a_page_runs_to_its_end(deployment: Path, line: str) -> None:
    """Typed as it stands there, beside a `waterline.yaml`, also what runs in a pod; it ends with code 0."""
    told = CliRunner().invoke(app, _waterline(line.replace("/etc/waterline/", "")))

    assert told.exit_code == 0, f"{told.output}{told.exception}"


@pytest.mark.full
def test_the_page_about_backups_gives_the_record_back(tmp_path: Path, shell: Mapping[str, str]) -> None:
    """Its lines in their order, first those for a cluster: the copy is put in the place of the record, and verified."""
    scene = Scene(tmp_path)
    scene.opens().diagnoses().proposes().verifies().closes()
    record = tmp_path / "home/journal.db"
    record.parent.mkdir()
    scene.close()
    shutil.move(scene.folder / "journal.db", record)
    _write(tmp_path, scene.catalog_properties, f"sqlite:///{record}")
    typed = [line for block in blocks("console", under=RESTORE) for line in commands(block)]
    places = {"/etc/waterline": str(tmp_path), "/tmp/record.copy": str(tmp_path / "of-the-pod")}
    in_cluster = [re.sub("|".join(places), lambda found: places[found[0]], line) for line in typed if "kubectl" in line]
    here = [line for line in typed if "kubectl" not in line]

    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join([*in_cluster, "mv record.copy of-the-cluster", *here])],
        cwd=tmp_path,
        env=dict(shell),
        capture_output=True,
        text=True,
        check=False,
    )

    assert [line.split()[0] for line in here] == ["waterline", "mv", "waterline", "waterline"]
    assert len(in_cluster) == 3
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "of-the-cluster").stat().st_size > 0
    assert not (tmp_path / "of-the-pod").exists()
    assert "Restored from record.copy." in done.stdout
    assert record.is_file()


def test_each_command_that_runs_elsewhere_is_one() -> None:
    """The list above names nothing that is gone."""
    assert set(ELSEWHERE) <= set(LATE)
    assert {line for _place, line in _asked()} >= OF_OTHERS


@pytest.fixture
def shell(tmp_path: Path) -> Mapping[str, str]:
    """An environment in which `waterline` is this one, `flink` writes down what it was asked, and the pod in which
    `kubectl exec` runs a command is this machine."""
    programs = tmp_path / "bin"
    programs.mkdir()
    scripts = {
        "waterline": f'exec "{sys.executable}" -m bot.cli "$@"',
        "flink": f'echo "flink $*" >> "{tmp_path}/asked"\ntest "$1" = run || echo "Savepoint completed. Path: $STATE"',
        "kubectl": 'while [ "$1" != -- ]; do shift; done; shift; exec "$@"',
    }
    for name, script in scripts.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    assert stat.S_IXUSR & (programs / "flink").stat().st_mode
    return {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


def _script(page: str, number: int = 0) -> str:
    return blocks("sh", under=page)[number].text


@pytest.mark.full
@pytest.mark.parametrize(("savepoint", "code"), [(0, 1), (-1, 0)])
def test_the_gate_of_a_deployment_starts_the_job_from_a_right_savepoint_only(
    tmp_path: Path, shell: Mapping[str, str], savepoint: int, code: int
) -> None:
    """The older savepoint would write rows twice: the shell ends at the check, and nothing is started. The check by
    itself, as its page has it, answers the same."""
    scene = FlinkScene.made_in(tmp_path)
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.stop(JOB, job("a"))
    state = sorted(scene.flink.savepoints.iterdir())[savepoint]
    catalog = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    jobs = {JOB: {"flink": "http://127.0.0.1:1", "savepoint_dir": str(scene.flink.savepoints)}}
    _write(tmp_path, catalog, f"sqlite:///{tmp_path}/nowhere.db", table={"job": JOB}, jobs=jobs)
    scene.catalog.close()
    scene.record.close()

    (alone,) = [line for place, line in _asked() if place.startswith("docs/restore-check.md")]
    lines = _script("docs/how-to/gate-a-deployment.md"), re.sub(r"s3://\S+", str(state), alone)

    done, checked = [
        subprocess.run(["bash", "-c", line], cwd=tmp_path, env={**shell, "STATE": str(state), "JOB_ID": "a"},
                       capture_output=True, text=True, check=False)
        for line in lines
    ]  # fmt: skip

    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert done.returncode == checked.returncode == code, done.stderr + checked.stderr
    assert (f"run -d -s {state}" in asked) is (code == 0)


@pytest.mark.full
def test_a_pipeline_reads_the_snapshot_that_can_be_trusted(deployment: Path, shell: Mapping[str, str]) -> None:
    """The script of the page prints a query for it."""
    done = subprocess.run(
        ["bash", "-c", _script("docs/how-to/gate-a-pipeline.md")],
        cwd=deployment, env=dict(shell), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("SELECT * FROM lake.sales.orders VERSION AS OF ")
    assert done.stdout.split()[-1].isdigit()


@pytest.mark.parametrize("message", quoted(ROOT / "docs" / "troubleshooting.md"))
def test_a_message_that_is_explained_is_in_the_code(message: str, said: frozenset[str]) -> None:
    """Word by word; … stands for a value."""
    assert [each for each in said if each.startswith(message)]


@pytest.fixture(scope="module")
def said() -> frozenset[str]:
    """Every sentence in the code."""
    return frozenset(messages())


@pytest.mark.full
@pytest.mark.parametrize(
    ("line", "code", "found"),
    [
        ("waterline doctor", 1, "SLACK_BOT_TOKEN is not set"),
        ("waterline commits sales.orders", 0, "checkpoint"),
        ("waterline diagnose sales.orders", 2, "F2"),
    ],
)
def test_what_reads_rows_runs_on_spark(
    deployment: Path, server: SparkServer, monkeypatch: pytest.MonkeyPatch, line: str, code: int, found: str
) -> None:
    """Without Slack, as on the page of the first table; and without a job, so the diagnosis cannot tell."""
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("SPARK_REMOTE", server.url)
    monkeypatch.delenv("SLACK_BOT_TOKEN", raising=False)

    told = CliRunner().invoke(app, _waterline(line))

    assert found in told.output
    assert told.exit_code == code


@pytest.mark.full
def test_doctor_cuts_off_no_address_in_a_narrow_terminal(deployment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever looks for a wrong address must see it whole."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("SPARK_REMOTE", "sc://spark-connect-of-the-platform.localhost:1")

    told = CliRunner().invoke(app, ["doctor"])

    assert "sc://spark-" in told.output
    assert "…" not in told.output
