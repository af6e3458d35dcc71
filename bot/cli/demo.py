"""`waterline demo`: a real Flink job damages a real Iceberg table; the recovery is walked in a local workspace."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

import typer
from rich.console import Console
from ruamel.yaml import YAML

from bot.cli.options import asked_to_stop
from bot.cli.walk import Walk
from bot.lab.home import LabState, Stack
from bot.lab.lab import Lab
from bot.lab.orders import again_in_spark
from bot.observation.errors import BadConfiguration
from bot.slack.directory import EVENTS, SCOPES
from bot.workspace import Cast, Workspace
from bot.workspace.people import BotApp

HERE = "Waterline is here"
"""What the bot says once everything is built. It is connected before that."""


@dataclass(frozen=True)
class BotProcess:
    process: subprocess.Popen[bytes]
    log: Path
    begins: int
    """Where its words begin in the log, which others have written before it."""

    def waits_until_here(self, limit_s: float = 60) -> None:
        """Return when it works. Raises BadConfiguration with the end of its log if it has ended, or at the limit."""
        deadline = time.monotonic() + limit_s
        while HERE not in (said := self._said()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = "\n".join(said.splitlines()[-5:])
                raise BadConfiguration(
                    "The bot did not start.", f"Its log ends with:\n{tail}", f"Read the whole log: {self.log}."
                )
            time.sleep(0.1)

    def _said(self) -> str:
        return self.log.read_bytes()[self.begins :].decode(errors="replace")


_ENDS_WITH_US = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()
"""Also where this process is killed: util-linux has the kernel end the bot then. It becomes the bot, under one pid."""


@contextmanager
def bot_process(
    config: Path, workspace: Workspace, log: Path, of_storage: Mapping[str, str] = MappingProxyType({})
) -> Iterator[BotProcess]:
    """`of_storage`: what it needs in its environment to read the lab's storage."""
    tokens = {"SLACK_BOT_TOKEN": workspace.bot_token, "SLACK_APP_TOKEN": workspace.app_token}
    environment = {**os.environ, **of_storage, **tokens}
    command = [*_ENDS_WITH_US, sys.executable, "-m", "bot.cli", "serve", "--config", str(config)]
    with log.open("ab") as output:
        begins = output.tell()
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            yield BotProcess(process, log, begins)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


ACTION = "roll_back_table_and_restore_job"


def write_config(folder: Path, lab: LabState, api_url: str, cast: Cast, *, watch: bool = False) -> Path:
    """`folder/waterline.yaml`; the same kind of file as a deployment's. `watch`: also follow the table unasked."""
    channels = {channel.name: channel.id for channel in cast.channels}
    ana = next(person.id for person in cast.people if person.name == "ana")
    approvers = next(group.id for group in cast.groups)
    start = {
        "kind": "sql-gateway",
        "url": lab.gateway_url,
        "statements": list(lab.start_statements),
        "properties": dict(lab.session_properties),
    }
    positions = {"position": "source_position"}
    replay: dict[str, object] = {
        "replay": {
            "source": "the lab's numbers, of which every row is made",
            "sql": again_in_spark(lab.start_statements[-1]),
        }
    }
    broker: dict[str, object] = {}
    spark: dict[str, object] = {"remote": lab.spark_remote}
    if lab.stack == "kafka":  # its rows are in the topic and nowhere else
        positions = {"position": "source_offset", "position_partition": "source_partition"}
        replay = {"replay": {"kafka": "json"}}
        spark["catalog"] = lab.catalog_name  # the lab's Spark knows it, and how it is on S3
        broker = {"kafka": {"servers": lab.kafka_servers, "topics": [lab.topic]}}
    content: dict[str, object] = {
        "home": "bot",
        "catalog": {"name": lab.catalog_name, "properties": dict(lab.catalog_properties)},
        "jobs": {
            lab.job_name: {
                "flink": lab.flink_url,
                "checkpoint_dir": lab.checkpoint_dir,
                "savepoint_dir": lab.savepoint_dir,
                "start": start,
                **broker,
            }
        },
        "tables": {
            lab.table: {
                "job": lab.job_name,
                "channel": channels["orders-oncall"],
                "contract": {
                    "key": ["order_id"],
                    **positions,
                    "event_time": "event_time",
                    "redacted": ["customer"],
                    "commit_every": 5,
                },
                "consumers": [
                    {"name": "revenue_daily", "channel": channels["revenue-analytics"]},
                    {"name": "fraud_features", "channel": channels["fraud-ml"]},
                ],
                **replay,
                "policies": {"default": {"groups": [approvers]}, ACTION: {"groups": [approvers], "required": 1}},
            }
        },
        "spark": spark,
        "lineage": {"events": str(lab.lineage_path)},
        "slack": {"mode": "socket", "base_url": api_url, "min_message_interval": 0.1},
        "web": {"port": 0, "pages": False},
    }
    if watch:
        content["watch"] = {"poll_interval": 5, "notify": {"users": [ana]}}
    path = folder / "waterline.yaml"
    with path.open("w", encoding="utf-8") as file:
        YAML().dump(content, file)
    return path


Incident = Literal["restored-from-older-savepoint", "rolled-back-while-running", "task-manager-killed"]
SYMPTOMS: dict[str, str] = {
    "restored-from-older-savepoint": "duplicate-rows",
    "rolled-back-while-running": "missing-rows",
    "task-manager-killed": "job-restarted",
}
"""Incident -> the runbook that its symptom leads to."""

app = typer.Typer(add_completion=False)
_console = Console(soft_wrap=True, highlight=False)


@app.command()
def demo(
    incident: Annotated[Incident, typer.Option(help="What breaks the table.")] = "restored-from-older-savepoint",
    sink: Annotated[Literal["v1", "v2"], typer.Option(help="Which of Flink's Iceberg sinks writes the table.")] = "v2",
    stack: Annotated[
        Stack, typer.Option(help="What it runs on: made-up numbers and local files, or Kafka, S3 and a REST catalog.")
    ] = "small",
    walk: Annotated[
        bool, typer.Option("--walk", help="Let scripted people follow the runbook, and print what they see.")
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page. 0 picks a free one.")] = 0,
    home: Annotated[Path, typer.Option(help="Folder for all files of the demo. It is emptied first.")] = Path(
        ".cache/demo"
    ),
) -> None:
    """Break a real table and recover it, in a page that works like Slack."""
    began = time.monotonic()
    shutil.rmtree(home / "bot", ignore_errors=True)
    with suppress(OSError):  # a folder that cannot be made is refused by the lab
        (home / "bot.log").unlink(missing_ok=True)
    with (
        Lab(home / "lab", sink=sink, say=_say, stack=stack) as lab,
        Workspace(app=BotApp(events=frozenset(EVENTS)), scopes=frozenset(SCOPES)).serve(port=port) as workspace,
    ):
        state = lab.start()
        config = write_config(home, state, workspace.api_url, workspace.world.cast, watch=True)
        with bot_process(config, workspace, home / "bot.log", state.environment) as bot:
            lab.tell(incident)
            bot.waits_until_here()
            _say(f"{time.monotonic() - began:5.1f} s  The table is broken.")
            if walk:
                _walk(workspace, lab, incident, began)
            else:
                _invite(workspace, incident)


def _invite(workspace: Workspace, incident: str) -> None:
    _console.print("")
    _console.print(f"  Open  {workspace.url}", style="bold")
    _console.print(f"  You are Ana, on call. What happened: {incident}.", markup=False)
    if incident != "task-manager-killed":
        _console.print(
            "  The watch tells it in #orders-oncall within a minute: press Open incident there.", markup=False
        )
    _console.print("  Or type  /waterline  in #orders-oncall, then  /waterline open", markup=False)
    _console.print("  Approve as Ben or Cleo (switch people at the top left). Ctrl-C ends everything.", markup=False)
    asked_to_stop().wait()


def _walk(workspace: Workspace, lab: Lab, incident: str, began: float) -> None:
    walk = Walk(workspace, SYMPTOMS[incident], _say)
    if lab.state.stack == "kafka":  # each file is a request to an S3 of one thread
        walk.patience_s *= 2
    clicked = walk.run()
    proof = lab.proof()
    _say("Read from outside the bot, with PyIceberg:")
    for line in proof.lines:
        _say(f"  {line}")
    _say(f"Done in {time.monotonic() - began:.0f} s.")
    proposed = "Propose" in clicked
    expected = incident != "task-manager-killed"
    if proposed is not expected:
        _say(f"Failed: {'a' if proposed else 'no'} proposal was made for {incident}.")
        raise typer.Exit(code=1)
    if not proof.is_exactly_once:
        _say("Failed: source positions are missing or doubled.")
        raise typer.Exit(code=1)
    what = "every offset of every partition" if proof.partitions else "every source position"
    _say(f"Correct: the table has {what} exactly once.")


def _say(text: str) -> None:
    """One line; rich knows Slack's emoji, some without `large_` in their name."""
    _console.print(text.replace(":large_", ":"), markup=False)
