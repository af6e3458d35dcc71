"""`waterline ledger` and `evidence`: one question of one table in a terminal, no Slack needed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

import spark_tasks
from bot.bootstrap import build
from bot.cli.exact_json import print_exact
from bot.cli.fitted_grid import fitted_grid
from bot.cli.following import followed
from bot.cli.ledger_grid import ledger_grid, missing_grid
from bot.cli.nobody import NobodyThere
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption, WindowOption, chosen
from bot.domain.evidence import Evidence
from bot.domain.findings import LedgerFinding
from bot.domain.hidden_values import outgoing
from bot.domain.ids import TableName
from bot.evidence import find_tasks
from bot.service.services import Services
from bot.settings import Settings

TableArgument = Annotated[str, typer.Argument(help="namespace.table, as configured.")]
console = Console(soft_wrap=True, highlight=False)
_file = Console(width=10_000, highlight=False)
"""A file or a pipe has no width that a line could be too long for."""


def ledger(
    table: TableArgument,
    window: WindowOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Print one line per commit of the window, and each checkpoint that has no commit with its reason."""
    found = _printed("ledger", table, window, as_json, config)
    if isinstance(found.finding, LedgerFinding) and not as_json:
        _print_grid(ledger_grid(found.finding.ledger, found.at, _width()))
        missing = missing_grid(found.finding.ledger)
        if missing is not None:
            _print_grid(missing)


def evidence(
    task: Annotated[str, typer.Argument(help="The task; `waterline tasks` lists them.")],
    table: TableArgument,
    window: WindowOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Run one evidence task and print its answer."""
    found = _printed(task, table, window, as_json, config)
    if found.rows and not as_json:
        _print_grid(fitted_grid(found.columns, found.rows, _width()))


def _width() -> int | None:
    return console.width if console.is_terminal else None


def _print_grid(grid: Grid) -> None:
    (console if console.is_terminal else _file).print(grid)


def _printed(task: str, table: str, window: str | None, as_json: bool, config: Path) -> Evidence:
    """What one task answered, followed on stderr and then printed: whole as JSON, or in words without its rows."""
    with services_for(config) as services:
        examiner = services.examiner
        found = followed(
            examiner, lambda course: examiner.collect(TableName(table), task, chosen(window), course=course)
        )
        contract = services.observer.setup(TableName(table)).contract
    if as_json:
        print_exact(console, outgoing(found, contract).model_dump(mode="json"))
    else:
        print_evidence(found)
    return found


def tasks(as_json: JsonOption = False) -> None:
    """List the evidence tasks: question, what `confirmed` and `ruled out` mean, what each needs and costs."""
    found = find_tasks(spark_tasks)
    if as_json:
        console.print_json(json.dumps([module.task.model_dump(mode="json") for module in found.values()]))
        return
    for name, module in found.items():
        task = module.task
        console.print(name, style="bold", markup=False)
        console.print(f"  {task.question}", markup=False)
        console.print(f"  confirmed: {task.confirmed_means}", markup=False)
        console.print(f"  ruled out: {task.ruled_out_means}", markup=False)
        console.print(f"  needs {', '.join(task.needs)}; reads {task.cost}", markup=False)


@contextmanager
def services_for(config: ConfigOption, tape: dict[str, bytes] | None = None) -> Iterator[Services]:
    """The application over the configured sources, with an empty record that is thrown away.

    `tape` is given what Flink and Marquez answer, by address.
    """
    settings = Settings.load(config)
    with build(settings, NobodyThere(), keep_record=False, tape=tape) as built:
        yield built.services


def print_evidence(found: Evidence) -> None:
    """Verdict and headline, then the figures, then what could not be looked at."""
    console.print(f"{found.task}: {found.verdict.value}. {found.headline}", markup=False)
    for measure in found.measures:
        console.print(f"  {measure.name}: {measure.value:g} {measure.unit}", markup=False)
    for remark in found.remarks:
        console.print(f"  No fault: {remark}", markup=False)
    for missing in found.could_not_look:
        console.print(f"  Could not look at {missing.source}: {missing.reason} {missing.remedy}", markup=False)
