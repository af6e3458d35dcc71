"""The commands of the lab, mounted as `waterline lab`."""

import signal
import threading
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.table import Table as Grid

from bot.lab import jars as pinned
from bot.lab.flink_cluster import Backend
from bot.lab.home import Home, Stack
from bot.lab.jars import Flink
from bot.lab.lab import Lab, proof, tell
from bot.lab.orders import Format, Sink
from bot.lab.stories import stories

app = typer.Typer(
    help="Run a real Flink job that writes a real Iceberg table on this machine.",
    no_args_is_help=True,
    add_completion=False,
)

_console = Console(soft_wrap=True, highlight=False)
_HomeOption = Annotated[Path, typer.Option(help="The lab's folder.")]
_FlinkOption = Annotated[Flink, typer.Option(help="Which Flink.")]
_DEFAULT_HOME = Path(".cache") / "lab"


def _say(text: str) -> None:
    _console.print(text, markup=False)


@app.command()
def up(
    home: _HomeOption = _DEFAULT_HOME,
    sink: Annotated[Sink, typer.Option(help="Which sink.")] = "v2",
    flink: _FlinkOption = "2.1",
    format_version: Annotated[int, typer.Option("--format", min=2, max=3, help="The table's format.")] = 2,
    upsert: Annotated[bool, typer.Option(help="Let a row replace the one with its key.")] = False,
    taskmanagers: Annotated[int, typer.Option(min=1, max=2, help="How many TaskManagers.")] = 1,
    parallelism: Annotated[int, typer.Option(min=1, max=2, help="Of the job on the stack `small`.")] = 1,
    backend: Annotated[Backend, typer.Option(help="Where the job keeps its state.")] = "hashmap",
    stack: Annotated[Stack, typer.Option(help="What it runs on.")] = "small",
    wire: Annotated[bool, typer.Option("--wire", help="Let a story lose messages to the TaskManagers.")] = False,
) -> None:
    """Starts Flink, Spark, the table and the job; runs until Ctrl-C, then everything is gone."""
    asked_to_end = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: asked_to_end.set())
    with Lab(
        home,
        sink,
        _say,
        flink=flink,
        taskmanagers=taskmanagers,
        parallelism=parallelism,
        wired=wire,
        backend=backend,
        stack=stack,
    ) as lab:
        state = lab.start(format_version=cast("Format", format_version), upsert=upsert)
        if state.stack == "kafka":
            _say(f"Kafka {state.kafka_servers}, topic {state.topic}  S3 {state.environment['AWS_ENDPOINT_URL']}")
            _say(f"REST catalog {state.catalog_properties['uri']}")
        _say(f"Flink {state.flink_url}  Spark {state.spark_remote}  state {lab.home.state_file}")
        _say("Ctrl-C ends everything. In another terminal: waterline lab break NAME")
        while not asked_to_end.wait(1):
            lab.check()


@app.command("break")
def break_(
    name: Annotated[str, typer.Argument(help="The story; `waterline lab stories` lists them.")],
    home: _HomeOption = _DEFAULT_HOME,
) -> None:
    """Makes a story happen in a running lab."""
    tell(Home(home), name, _say)


@app.command("stories")
def list_stories() -> None:
    """Lists the ways in which this world can go wrong."""
    grid = Grid("name", "what happens")
    for name, story in sorted(stories().items()):
        grid.add_row(name, story.summary)
    _console.print(grid)


@app.command("proof")
def show_proof(home: _HomeOption = _DEFAULT_HOME) -> None:
    """Counts rows, duplicates and missing positions, from outside the bot; ends with 1 if any is wrong."""
    found = proof(Home(home))
    for line in found.lines:
        _say(line)
    raise typer.Exit(code=0 if found.is_exactly_once else 1)


@app.command("jars")
def fetch_jars(flink: _FlinkOption = "2.1") -> None:
    """Fetches and verifies all jars, so that the first lab starts without the network."""
    pinned.prefetch(flink, _say)
