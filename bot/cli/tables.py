"""`waterline commits` and `evidence`: one question of one table in a terminal, no Slack needed."""

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Annotated, TypeVar

import typer
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

import spark_tasks
from bot.bootstrap import build
from bot.cli.options import (
    COULD_NOT_TELL,
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    NobodyThere,
    TableArgument,
    WindowOption,
    chosen,
    print_exact,
)
from bot.evidence import find_tasks
from bot.incident.hidden_values import outgoing
from bot.observation.evidence import Evidence, Verdict
from bot.observation.findings import LedgerFinding
from bot.observation.flink import CheckpointKind
from bot.observation.ids import TableName, short_job
from bot.observation.ledger import Ledger, LedgerRow
from bot.observation.sentences import column_times
from bot.service.examining import Course, Examiner
from bot.service.services import Services
from bot.settings import Settings

INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells know it."""
_AGAIN_AFTER_S = 0.3
_ENDING = "Stopping the Spark jobs …"
_ENDED = "Cancelled. The Spark jobs are stopped, and nothing was changed."
Answer = TypeVar("Answer")


def followed(examiner: Examiner, ask: Callable[[Course], Answer], console: Console | None = None) -> Answer:
    """The answer of `ask`. A terminal at stderr is shown how far it is; stdout is left to the answer.

    The work has a thread of its own, so that Ctrl-C reaches the one that waits and no query half sent. It then ends
    with exit code 130, once what runs on Spark is interrupted. Raises what `ask` raises.
    """
    told = console or Console(stderr=True, highlight=False)
    status = told.status(Course().words) if told.is_terminal else None
    course = Course(lambda: status.update(_line(course)) if status is not None else None)
    work: Future[Answer] = Future()
    done = Event()
    thread = Thread(target=lambda: _answer(work, lambda: ask(course), done), name="examination", daemon=True)
    try:
        with status if status is not None else nullcontext():
            thread.start()
            while not done.wait(_AGAIN_AFTER_S):
                pass
            return work.result()
    except KeyboardInterrupt:
        told.print(_ENDING)
        _end(examiner, course, thread, done)
    told.print(_ENDED)
    raise typer.Exit(INTERRUPTED)


def _answer(work: Future[Answer], ask: Callable[[], Answer], done: Event) -> None:
    try:
        work.set_result(ask())
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits, where it is raised
        work.set_exception(error)
    finally:
        done.set()


def _end(examiner: Examiner, course: Course, thread: Thread, done: Event) -> None:
    """Interrupts until the work has ended: a task that is just beginning is not known to Spark yet. What reads Flink
    or storage has a time limit of its own. `is_alive` is no help: Ctrl-C within `join` marks a thread as ended
    (CPython 3.11)."""
    while thread.ident is not None and not done.is_set():
        examiner.cancel(course)
        done.wait(_AGAIN_AFTER_S)


def _line(course: Course) -> str:
    return course.words.replace("[", r"\[")


_COLUMNS = (
    "at (UTC)", "snapshot", "operation", "run", "checkpoint", "missing before", "rows", "positions", "refs",
    "read by",
)  # fmt: skip
console = Console(soft_wrap=True, highlight=False)
_file = Console(width=10_000, highlight=False)
"""A file or a pipe has no width that a line could be too long for."""


def commits(
    table: TableArgument,
    window: WindowOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """List the commits of a table, and the checkpoints that have no commit. Exit code 2: could not tell."""
    found = _printed("ledger", table, window, as_json, config)
    if isinstance(found.finding, LedgerFinding) and not as_json:
        _print_grid(ledger_grid(found.finding.ledger, found.at))
        missing = missing_grid(found.finding.ledger)
        if missing is not None:
            _print_grid(missing)
    _leave(found)


def evidence(
    task: Annotated[str, typer.Argument(help="Name of the task. `waterline tasks` lists them.")],
    table: TableArgument,
    window: WindowOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Run one evidence task and print its answer. Exit code 2: could not tell."""
    found = _printed(task, table, window, as_json, config)
    if found.rows and not as_json:
        _print_grid(grid_of(found.columns, found.rows))
    _leave(found)


def ledger_grid(ledger: Ledger, looked_at: datetime) -> Grid:
    """Oldest first, what a responder reads of a commit; JSON has the rest. Times with their day where not all are of
    the day of the look. A column in which nothing stands is left out."""
    said = column_times((looked_at, *(row.committed_at for row in ledger.rows)))
    lines = [_cells(row, said(row.committed_at), readers_known=ledger.readers_known) for row in ledger.rows]
    kept = [n for n in range(len(_COLUMNS)) if any(line[n] for line in lines)]
    return grid_of([_COLUMNS[n] for n in kept], [[line[n] for n in kept] for line in lines])


def missing_grid(ledger: Ledger) -> Grid | None:
    """Checkpoint ids that have no commit on main, each with its reason; None without any."""
    between = [each for row in ledger.rows for each in row.skipped]
    if not between and not ledger.trailing:
        return None
    grid = Grid("run", "checkpoints", "why", "what shows it", title="without a commit on main", title_justify="left")
    for each in (*between, *ledger.trailing):
        style = "bold" if each.is_fault else None
        grid.add_row(short_job(each.job_id), each.ids, each.reason.value, each.detail, style=style)
    return grid


def grid_of(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> Grid:
    """The first two columns keep their width: times and ids are copied from here. The others wrap where there is no
    room."""
    grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold underline")
    for n, name in enumerate(columns):
        widest = max((len(line[n]) for line in lines), default=0)
        grid.add_column(Text(name), min_width=widest if n < 2 else None, overflow="fold")
    for line in lines:
        grid.add_row(*map(Text, line))
    return grid


def _cells(row: LedgerRow, committed: str, *, readers_known: bool) -> tuple[str, ...]:
    """As many cells as `_COLUMNS`; `?` where no source tells."""
    kinds = {CheckpointKind.UNKNOWN: "?", CheckpointKind.CHECKPOINT: ""}
    kind = kinds.get(row.checkpoint_kind, f" {row.checkpoint_kind.value}")
    removed = f" -{row.removed_rows}" if row.removed_rows else ""
    return (
        committed,
        str(row.snapshot_id),
        row.operation if row.on_main else f"{row.operation}, rolled back",
        short_job(row.job_id) if row.job_id else row.engine,
        "" if row.checkpoint_id is None else f"{row.checkpoint_id}{kind}",
        ", ".join(each.words for each in row.skipped),
        f"{row.added_rows}{removed}",
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        ", ".join(row.refs),
        ", ".join(sorted({reader.consumer for reader in row.readers})) if readers_known else "?",
    )


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


def _leave(found: Evidence) -> None:
    """With exit code 2 where the task could not look at what would have decided."""
    if found.verdict is Verdict.INCONCLUSIVE and found.could_not_look:
        raise typer.Exit(COULD_NOT_TELL)


def tasks(as_json: JsonOption = False) -> None:
    """List the evidence tasks, with what each asks, needs and costs."""
    found = find_tasks(spark_tasks)
    if as_json:
        console.print_json(json.dumps([module.task.model_dump(mode="json") for module in found.values()]))
        return
    for name, module in found.items():
        task = module.task
        console.print(name, style="bold", markup=False)
        console.print(f"  {task.question}", markup=False)
        console.print(f"  {task.word(Verdict.CONFIRMED)}: {task.confirmed_means}", markup=False)
        console.print(f"  {task.word(Verdict.RULED_OUT)}: {task.ruled_out_means}", markup=False)
        console.print(f"  needs {', '.join(task.needs)}; reads {task.cost}", markup=False)


@contextmanager
def services_for(config: ConfigOption) -> Iterator[Services]:
    """The application over the configured sources, with an empty record that is thrown away."""
    settings = Settings.load(config)
    with build(settings, NobodyThere(), keep_record=False) as built:
        yield built.services


def print_evidence(*evidence: Evidence) -> None:
    """Tasks that could not look for the very same reason say it once."""
    together: dict[object, list[Evidence]] = {}
    known = find_tasks(spark_tasks)
    for each in evidence:
        is_blind = each.finding is None and bool(each.could_not_look) and not each.measures
        why = (each.headline, *((missing.reason, missing.remedy) for missing in each.could_not_look))
        together.setdefault(why if is_blind else each.id, []).append(each)
    for found, *others in together.values():
        tasks_of = ", ".join(each.task for each in (found, *others))
        module = known.get(found.task)
        word = f"{module.task.word(found.verdict)}. " if module is not None else ""
        console.print(f"{tasks_of}: {word}{found.headline}", markup=False)
        for measure in found.measures:
            console.print(f"  {measure.name}: {measure.value:g} {measure.unit}", markup=False)
        for missing in found.could_not_look:
            reason = (
                "" if missing.reason in found.headline else f"Could not look at {missing.source}: {missing.reason} "
            )
            console.print(f"  {reason}{missing.remedy}", markup=False)
