"""What the watch pays for a look at tables with a short and a long history, beside a file of events that grows too."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.lineage import LineageEvent, OpenLineageFile
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap import failure_modes
from bot.diagnosis._examine import diagnose
from bot.domain.approval import ApprovalPolicy
from bot.domain.setup import TableSetup
from bot.domain.table import TableState
from bot.history.suspicion import propose_window
from bot.service.diagnosing import build_case
from bot.service.observing import Observer
from bot.service.watch_look import tail_of
from bot.service.watch_signs import signs_in, suspicion
from tests.bench.entries_table import Size, entries_table
from tests.bench.window_cost import best_of
from tests.tables import CONTRACT, ORDERS

EVENTS_PER_COMMIT = 20
"""Runs that read something, of this table or of others, between two commits."""
POINTER, JUDGE, FIRST = "pointer", "judging", "judging for the first time"
WORLD, LINEAGE = "closer look: its world", "the same with lineage"
PARSED = "every event of lineage parsed"
"""What reading the file cost as long as each line was made an event: `LINEAGE` beside it tells what is saved."""


@dataclass(frozen=True)
class LookCosts:
    """Seconds of each part of a look."""

    size: Size
    seconds: dict[str, float]


def look_costs(size: Size, folder: Path) -> LookCosts:
    """The best of three each; `LINEAGE` is what a closer look would read if it asked who reads the table."""
    home = entries_table(size)
    lineage = folder / f"{size.name}.jsonl"
    with lineage.open("w") as lines:
        for number in range(size.snapshots * EVENTS_PER_COMMIT):
            lines.write(_event(number) + "\n")
    catalog = PyIcebergCatalog("lake", {"type": "sql", "uri": f"sqlite:///{home}/catalog.db"}, SystemClock())
    policies = {"default": ApprovalPolicy(users=("U0BEN00001",))}
    setup = TableSetup(
        name=ORDERS, job=None, contract=CONTRACT, consumers=(), policies=policies, next_update_minutes=30
    )
    observer = Observer(catalog, {ORDERS: setup}, {}, OpenLineageFile(lineage, "lake"), FolderOfTable())
    modes = failure_modes()
    seen = observer.observe(ORDERS, with_readers=False)

    def judge(table: TableState) -> None:
        now = seen.model_copy(update={"table": table})
        case = build_case(setup, now, propose_window(table, seen.jobs).window, ())
        signs_in(case, diagnose(case, modes), patience=timedelta(minutes=2))
        suspicion(case)

    questions = {
        POINTER: lambda: catalog.pointer(ORDERS),
        JUDGE: lambda: judge(tail_of(seen.table, seen.jobs) or seen.table),
        FIRST: lambda: judge(seen.table),
        WORLD: lambda: observer.observe(ORDERS, with_readers=False),
        LINEAGE: lambda: observer.observe(ORDERS),
        PARSED: lambda: _parsed(lineage),
    }
    try:
        return LookCosts(size, {name: best_of(3, ask)[1] for name, ask in questions.items()})
    finally:
        catalog.close()


def _parsed(file: Path) -> list[LineageEvent]:
    with file.open("rb") as lines:
        return [LineageEvent.model_validate_json(line) for line in lines]


def _event(number: int) -> str:
    at = datetime.now(UTC) - timedelta(seconds=number)
    told = {
        "eventTime": at.isoformat(),
        "eventType": "COMPLETE",
        "run": {"runId": f"r-{number}", "facets": {}},
        "job": {"namespace": "analytics", "name": "another"},
        "inputs": [{"namespace": "lake", "name": "sales.refunds"}],
        "outputs": [],
    }
    return json.dumps(told)
