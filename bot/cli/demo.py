"""`waterline demo`: a real Flink job damages a real Iceberg table; the recovery is walked in a local workspace."""

import shutil
import signal
import threading
import time
from pathlib import Path
from typing import Annotated, Literal

import psutil
import typer
from rich.console import Console

from bot.cli.bot_process import bot_process
from bot.cli.demo_config import write_config
from bot.cli.walk import Walk
from bot.lab.lab import Lab
from bot.lab.proof import Proof
from bot.slack.checking import EVENTS, SCOPES
from bot.workspace import Workspace
from bot.workspace.people import BotApp

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
    incident: Annotated[Incident, typer.Option(help="How the world is broken.")] = "restored-from-older-savepoint",
    sink: Annotated[Literal["v1", "v2"], typer.Option(help="Which of Flink's Iceberg sinks writes the table.")] = "v2",
    walk: Annotated[bool, typer.Option("--walk", help="Let scripted people do it, and print what they see.")] = False,
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.")] = 0,
    home: Annotated[Path, typer.Option(help="Folder for everything; emptied at the start.")] = Path(".cache/demo"),
) -> None:
    """Break a real table, then show the recovery in a page that looks and behaves like Slack."""
    began = time.monotonic()
    shutil.rmtree(home / "bot", ignore_errors=True)
    (home / "bot.log").unlink(missing_ok=True)
    with (
        Lab(home / "lab", sink=sink, say=_say) as lab,
        Workspace(app=BotApp(events=frozenset(EVENTS)), scopes=frozenset(SCOPES)).serve(port=port) as workspace,
    ):
        state = lab.start()
        config = write_config(home, state, workspace.api_url, workspace.world.cast, watch=True)
        with bot_process(config, workspace, home / "bot.log") as bot:
            lab.tell(incident)
            bot.waits_until_here()
            _say(f"{time.monotonic() - began:5.1f} s  The incident is there. Memory of all processes: {memory_mb()} MB")
            if walk:
                _walk(workspace, lab, incident, began)
            else:
                _invite(workspace, incident)


def memory_mb() -> int:
    """Resident memory of this process and everything that it started, in MB."""
    me = psutil.Process()
    total = 0
    for process in [me, *me.children(recursive=True)]:
        try:
            total += process.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total // 1_000_000


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
    stopping = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stopping.set())
    stopping.wait()


def _walk(workspace: Workspace, lab: Lab, incident: str, began: float) -> None:
    clicked = Walk(workspace, SYMPTOMS[incident], _say).run()
    proof = lab.proof()
    _say("")
    _say("Read from outside the bot, with PyIceberg:")
    for line in proof_lines(proof):
        _say(f"  {line}")
    _say(f"Done in {time.monotonic() - began:.0f} s; memory of all processes now: {memory_mb()} MB")
    proposed = "Propose" in clicked
    expected = incident != "task-manager-killed"
    if proposed is not expected:
        _say(f"NOT as expected: a proposal was {'made' if proposed else 'not made'} for {incident}.")
        raise typer.Exit(code=1)
    if not proof.is_exactly_once:
        _say("NOT whole.")
        raise typer.Exit(code=1)
    _say("Whole: every source position is there exactly once.")


def proof_lines(proof: Proof) -> list[str]:
    """The table in four lines."""
    chain = " ".join(f"{(link.job_id or '?')[:4]}:{link.checkpoint_id}" for link in proof.chain[-12:])
    return [
        f"rows {proof.rows}, distinct positions {proof.distinct}, highest {proof.highest}",
        f"duplicates {proof.duplicates}, missing {proof.missing_positions}",
        f"head {proof.head}",
        f"last commits (run:checkpoint) {chain}",
    ]


def _say(text: str) -> None:
    """One line; rich knows Slack's emoji, some without `large_` in their name."""
    _console.print(text.replace(":large_", ":"), markup=False)
