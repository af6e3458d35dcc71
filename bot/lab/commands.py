"""The commands of the lab, mounted as `waterline lab`."""

import signal
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.console import Console
from rich.table import Table as Grid

from bot.lab import jars as pinned
from bot.lab.consumers import QUERIES, Readers
from bot.lab.flink_cluster import Backend
from bot.lab.home import Home, Stack
from bot.lab.jars import Flink
from bot.lab.lab import Lab, proof, tell
from bot.lab.orders import Format, Sink
from bot.lab.proof import Proof
from bot.lab.stories import stories
from bot.pinned_jars import MachineError

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


def _refuse(error: MachineError) -> typer.Exit:
    _say(f"{error.happened}\n{error.found}\n{error.next_step}")
    return typer.Exit(code=1)


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
    try:
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
    except MachineError as error:
        raise _refuse(error) from error


@app.command("break")
def break_(
    name: Annotated[str, typer.Argument(help="The story; `waterline lab stories` lists them.")],
    home: _HomeOption = _DEFAULT_HOME,
) -> None:
    """Makes a story happen in a running lab."""
    try:
        tell(Home(home), name, _say)
    except MachineError as error:
        raise _refuse(error) from error


@app.command("stories")
def list_stories() -> None:
    """Lists the ways in which this world can go wrong."""
    grid = Grid("name", "what happens")
    for name, story in sorted(stories().items()):
        grid.add_row(name, story.summary)
    _console.print(grid)


@app.command()
def consumer(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(QUERIES)}.")], home: _HomeOption = _DEFAULT_HOME
) -> None:
    """Lets a consumer read the table once; its Spark writes lineage events."""
    try:
        for read in Readers(Home(home), (name,)).wait():
            _say(f"{read.consumer} read snapshot {read.snapshot_id} in run {read.run_id}")
    except MachineError as error:
        raise _refuse(error) from error


@app.command("proof")
def show_proof(home: _HomeOption = _DEFAULT_HOME) -> None:
    """Counts rows, duplicates and missing positions, from outside the bot; ends with 1 if any is wrong."""
    try:
        found = proof(Home(home))
    except MachineError as error:
        raise _refuse(error) from error
    _show(found)
    raise typer.Exit(code=0 if found.is_exactly_once else 1)


@app.command("jars")
def fetch_jars(flink: _FlinkOption = "2.1") -> None:
    """Fetches and verifies all jars, so that the first lab starts without the network."""
    try:
        pinned.prefetch(flink, _say)
    except MachineError as error:
        raise _refuse(error) from error


def _show(found: Proof) -> None:
    _say(f"rows {found.rows}  distinct {found.distinct}  duplicates {found.duplicates}  missing {_told(found.missing)}")
    for each in found.partitions:
        _say(
            f"partition {each.partition}: rows {each.rows}  highest {each.highest}  duplicates {each.duplicates}  "
            f"missing {_told(each.missing)}  deleted from the topic {_told(each.deleted)}"
        )
    grid = Grid("snapshot", "job", "checkpoint", "rows added")
    for link in found.chain:
        grid.add_row(*(str(each) for each in (link.snapshot_id, link.job_id, link.checkpoint_id, link.added_rows)))
    _console.print(grid)


def _told(ranges: Sequence[tuple[int, int]]) -> str:
    return ", ".join(f"{first}-{last}" for first, last in ranges) or "none"
