"""`waterline ledger`, `evidence` and `diagnose`: the same evidence in a terminal, no Slack needed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from bot.bootstrap import build
from bot.cli.nobody import NobodyThere
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, SinceOption
from bot.domain.diagnosis import Diagnosis
from bot.domain.evidence import Evidence
from bot.domain.findings import LedgerFinding
from bot.domain.ids import TableName, short, short_job
from bot.domain.ledger import LedgerRow
from bot.service.services import Services
from bot.settings import Settings

TableArgument = Annotated[str, typer.Argument(help="namespace.table, as configured.")]
console = Console(soft_wrap=True, highlight=False)


def ledger(
    table: TableArgument, since: SinceOption = None, as_json: JsonOption = False, config: ConfigOption = DEFAULT_CONFIG
) -> None:
    """Print one line per commit of the window: checkpoint, run, attempt, rows, code version, readers."""
    with _services(config) as services:
        found = _collect(services, table, "ledger", since)
    if as_json:
        console.print_json(found.model_dump_json())
        return
    _print_evidence(found)
    if isinstance(found.finding, LedgerFinding):
        console.print(_ledger_grid(found.finding.ledger.rows))


def evidence(
    task: Annotated[str, typer.Argument(help="The task; `waterline lint` lists them.")],
    table: TableArgument,
    since: SinceOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Run one evidence task and print its answer."""
    with _services(config) as services:
        found = _collect(services, table, task, since)
    if as_json:
        console.print_json(found.model_dump_json())
        return
    _print_evidence(found)
    if found.rows:
        grid = Grid(*found.columns)
        for row in found.rows:
            grid.add_row(*row)
        console.print(grid)


def diagnose(
    table: TableArgument, since: SinceOption = None, as_json: JsonOption = False, config: ConfigOption = DEFAULT_CONFIG
) -> None:
    """Collect all evidence and name what happened; JSON holds the codes that match, with rows and reasons."""
    with _services(config) as services:
        _state, window = services.opening.window_since(TableName(table), since)
        diagnosis, found = services.diagnostician.examine_table(TableName(table), window)
    if as_json:
        told = {
            "table": table,
            "window": window.model_dump(mode="json"),
            "codes": list(diagnosis.codes),
            "results": [result.model_dump(mode="json") for result in diagnosis.results],
            "evidence": [item.model_dump(mode="json", exclude={"finding"}) for item in found],
        }
        console.print_json(json.dumps(told))
        return
    for item in found:
        _print_evidence(item)
    _print_diagnosis(diagnosis)


@contextmanager
def _services(config: ConfigOption) -> Iterator[Services]:
    settings = Settings.load(config)
    with build(settings, NobodyThere(), keep_record=False) as built:
        yield built.services


def _collect(services: Services, table: str, task: str, since: str | None) -> Evidence:
    _state, window = services.opening.window_since(TableName(table), since)
    return services.desk.collect(TableName(table), window, task)


def _print_evidence(found: Evidence) -> None:
    console.print(f"{found.task}: {found.verdict.value}. {found.headline}", markup=False)
    for measure in found.measures:
        console.print(f"  {measure.name}: {measure.value:g} {measure.unit}", markup=False)
    for missing in found.could_not_look:
        console.print(f"  Could not look at {missing.source}: {missing.reason} {missing.remedy}", markup=False)


def _ledger_grid(rows: tuple[LedgerRow, ...]) -> Grid:
    grid = Grid("at (UTC)", "snapshot", "parent", "op", "run", "checkpoint", "att", "files", "rows", "code", "read by")
    for row in rows:
        checkpoint = "" if row.checkpoint_id is None else f"{row.checkpoint_id} {row.checkpoint_kind.value}"
        grid.add_row(
            f"{row.committed_at:%H:%M:%S}",
            ("" if row.on_main else "rolled back ") + str(row.snapshot_id),
            short(row.parent_id),
            row.operation,
            short_job(row.job_id) if row.job_id else row.engine,
            checkpoint,
            ",".join(map(str, row.attempts)) if row.attempts is not None else "?",
            str(row.added_files),
            str(row.added_rows),
            row.code_version or "?",
            ", ".join(sorted({reader.consumer for reader in row.readers})),
        )
    return grid


def _print_diagnosis(diagnosis: Diagnosis) -> None:
    for mode, match in diagnosis.matches:
        console.print(f"\n{mode.code}: {match.headline}", style="bold", markup=False)
        for reason in match.reasons:
            console.print(f"  - {reason}", markup=False)
        console.print(
            f"  last good snapshot {match.last_good}; {match.remedy.words} ({match.remedy.value})", markup=False
        )
    if not diagnosis.matches:
        console.print("\nNo failure mode matches.", style="bold")
    for mode, told in diagnosis.undecided:
        console.print(f"{mode.code} cannot tell; missing: {'; '.join(told.missing)}", markup=False)
    for mode, excluded in diagnosis.excluded:
        console.print(f"{mode.code} excluded: {excluded.reason}", markup=False)
