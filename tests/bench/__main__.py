"""`python -m tests.bench`: measures, and prints one table."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table
from slack_sdk import WebClient

from bot.bootstrap import build
from bot.cli.options import NobodyThere
from bot.settings import Settings
from bot.slack.directory import SCOPES
from bot.workspace import SeenMessage, Workspace
from tests.bench.clicks import CLICKS, Waits, burst
from tests.bench.floor import floor_app
from tests.bench.scene import CHANNEL, Scene, eventually, scene
from tests.tables import ORDERS

_BARE = 5


def warm_times(config: Path) -> tuple[float, dict[str, float]]:
    """(seconds of a bare `range(1).count()`, task -> seconds), each on its second run or later."""
    with build(Settings.load(config), NobodyThere(), keep_record=False) as built:
        built.runner.warm()
        bare = min(_seconds(built.runner.warm) for _ in range(_BARE))
        services = built.services
        tasks: dict[str, float] = {}
        for name in services.tasks:
            ask = partial(services.examiner.collect, ORDERS, name)
            ask()
            tasks[name] = _seconds(ask)
    return bare, tasks


def _seconds(do: Callable[[], object]) -> float:
    began = time.perf_counter()
    do()
    return time.perf_counter() - began


BUTTON = "Take over"
ACK_AIM_MS, EVIDENCE_AIM_S = 50.0, 3.0
_console = Console(highlight=False, width=118)
Bursts = dict[str, tuple[Waits, Waits]]
"""What was clicked at -> (all in one instant, spread over a second)."""


@dataclass(frozen=True)
class Measured:
    """Everything of one run."""

    form_s: float
    card_s: float
    evidence_s: float
    bare_s: float
    tasks_s: dict[str, float]
    acks: Bursts
    spark_ran: bool
    """Whether evidence was still running when the last click under Spark was acknowledged."""


def main() -> None:
    """Measure and print."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="waterline-bench-") as folder, scene(Path(folder)) as it:
        form_s, card_s, card = _open(it)
        evidence_s = _first_evidence(it)
        idle = _bursts(it)
        spark, ran = _under_spark(it)
        it.waits_until_idle(60)
        bare_s, tasks_s = warm_times(it.config)
        blocks = it.workspace.world.conversations.find(card.channel, card.ts)
    assert blocks is not None
    acks = {"Bolt that only acknowledges": _floor(list(blocks.blocks))}
    acks |= {"Waterline, Spark idle": idle, "Waterline, Spark running": spark}
    _print(Measured(form_s, card_s, evidence_s, bare_s, tasks_s, acks, ran), time.monotonic() - began)


def _open(it: Scene) -> tuple[float, float, SeenMessage]:
    ana = it.workspace.person("ana")
    began = time.monotonic()
    ana.types("/waterline open", CHANNEL)
    eventually(lambda: ana.modal.submit is not None, 30)
    form_s = time.monotonic() - began
    ana.fills({"runbook": "duplicate-rows"})
    began = time.monotonic()
    ana.submits()
    card = ana.waits_for(lambda message: BUTTON in message.buttons, CHANNEL, timeout=30)
    return form_s, time.monotonic() - began, card


def _first_evidence(it: Scene) -> float:
    """From the card to the first answer in the thread: nobody clicks."""
    shown = "SELECT count(*) FROM outbox WHERE key LIKE '%/evidence/%' AND state = 'sent'"
    began = time.monotonic()
    eventually(lambda: it.asks(shown) > 0, 60)
    return time.monotonic() - began


def _bursts(it: Scene) -> tuple[Waits, Waits]:
    """The first burst warms both sides up and is not counted."""
    return _burst(it, 0) and _burst(it, 0), _burst(it, 1)


def _under_spark(it: Scene) -> tuple[tuple[Waits, Waits], bool]:
    found, ran = [], []
    for over_s in (0.0, 1.0):
        it.waits_until_idle(60)
        for task in ("duplicate_rows", "missing_positions", "ledger", "checkpoint_pairing"):
            it.workspace.person("ana").types(f"/waterline run {task}", CHANNEL)
        eventually(lambda: it.evidence_running > 0, 10)
        found.append(_click(it, over_s))
        ran.append(it.evidence_running > 0)
    return (found[0], found[1]), all(ran)


def _burst(it: Scene, over_s: float) -> Waits:
    it.waits_until_idle(60)
    return _click(it, over_s)


def _click(it: Scene, over_s: float) -> Waits:
    ana = it.workspace.person("ana")
    card = ana.waits_for(lambda message: BUTTON in message.buttons, CHANNEL)
    return burst(it.workspace, card, BUTTON, over_s=over_s)


def _floor(blocks: list[dict[str, object]]) -> tuple[Waits, Waits]:
    with Workspace(scopes=frozenset(SCOPES)).serve() as workspace, floor_app(workspace):
        client = WebClient(workspace.bot_token, base_url=workspace.api_url)
        client.chat_postMessage(channel=CHANNEL, text="The same card.", blocks=blocks)
        card = workspace.person("ana").last_message(CHANNEL)
        burst(workspace, card, BUTTON, over_s=0)
        return tuple(burst(workspace, card, BUTTON, over_s=over_s) for over_s in (0, 1))  # type: ignore[return-value]


def _print(found: Measured, took_s: float) -> None:
    floor = found.acks["Bolt that only acknowledges"]
    grid = Table(title=f"Acknowledgement of {CLICKS} clicks (aim: p99 ≤ {ACK_AIM_MS:.0f} ms while Spark runs)")
    for column in ("who answers", "clicks", "p50 ms", "p99 ms", "p99 to Bolt alone", "not in 3 s"):
        grid.add_column(column, justify="left" if column in {"who answers", "clicks"} else "right")
    for who, both in found.acks.items():
        for how, waits, least in zip(("in one instant", "over one second"), both, floor, strict=True):
            ratio = f"{waits.p99 / least.p99:.1f} ×"
            grid.add_row(who, how, f"{waits.p50:.0f}", f"{waits.p99:.0f}", ratio, str(waits.lost))
    _console.print(grid)
    if not found.spark_ran:
        _console.print("Spark had answered before the last click was acknowledged: run it again.")
    speeds = Table(title=f"Evidence (aim: the first on a warm Spark ≤ {EVIDENCE_AIM_S:.0f} s)")
    for column in ("what", "seconds", "to a bare count"):
        speeds.add_column(column, justify="left" if column == "what" else "right")
    rows = {"opening form, filled": found.form_s, "first card, after the form": found.card_s}
    rows |= {"first evidence, card to thread": found.evidence_s, "bare range(1).count()": found.bare_s}
    for what, seconds in {**rows, **{f"{name}, warm": each for name, each in found.tasks_s.items()}}.items():
        speeds.add_row(what, f"{seconds:.2f}", f"{seconds / found.bare_s:.1f} ×")
    _console.print(speeds)
    _console.print(f"Measured in {took_s:.0f} s.")


if __name__ == "__main__":
    main()
