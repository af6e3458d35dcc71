"""`waterline diagnose` and `case save`: what happened to a table, here or on another machine."""

from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bot.adapters.saved_case import check_free, read_case, write_case
from bot.bootstrap import failure_modes
from bot.cli.options import (
    COULD_NOT_TELL,
    DEFAULT_CONFIG,
    ConfigOption,
    JsonOption,
    TableArgument,
    WindowOption,
    chosen,
    print_exact,
)
from bot.cli.tables import followed, print_evidence, services_for
from bot.diagnosis._support.examine import diagnose as examine
from bot.history.case import Case
from bot.incident.diagnosis import Act, Diagnosis, Matches, Mode, SavedCase
from bot.incident.hidden_values import outgoing_case
from bot.incident.recovery_deadline import deadline_in_words, deadline_of
from bot.observation.errors import Refused
from bot.observation.ids import TableName, short
from bot.service.examining import Examination
from bot.service.services import Services
from bot.settings import Settings, masking

console = Console(soft_wrap=True, highlight=False)
case_app = typer.Typer(no_args_is_help=True, add_completion=False)


@case_app.callback()
def case() -> None:
    """Save a diagnosis with its evidence in one file."""


def diagnose(
    table: Annotated[str | None, typer.Argument(help="The table as namespace.table. Leave it out with --case.")] = None,
    case: Annotated[
        Path | None, typer.Option(help="Diagnose a file that `waterline case save` wrote, instead of a table.")
    ] = None,
    window: WindowOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Collect all evidence and say what happened to a table. Exit code 2: could not tell."""
    if (table is None) == (case is None):
        raise Refused(
            "Nothing was diagnosed.", "Expected a table or --case FILE; found none or both.", "Name one of them."
        )
    if case is not None:
        saved = read_case(case)
        _print(saved.case, examine(saved.case, failure_modes()), as_json, saved)
        return
    with services_for(config) as services:
        found = _examined(services, TableName(table or ""), window)
    _print(found.case, found.diagnosis, as_json, None)
    if could_not_tell(found.case, found.diagnosis):
        raise typer.Exit(COULD_NOT_TELL)


def could_not_tell(case: Case, diagnosis: Diagnosis) -> bool:
    """Whether nothing matches but what is only worth knowing, something is undecided, and some evidence could not be
    collected."""
    return not diagnosis.to_act_on and bool(diagnosis.undecided) and any(each.could_not_look for each in case.evidence)


@case_app.command()
def save(
    table: TableArgument,
    to: Annotated[Path, typer.Option(help="JSON file to write; `.json.gz` packs it. It must not exist yet.")],
    window: WindowOption = None,
    values: Annotated[
        bool, typer.Option(help="Keep sample rows and partitions too. Redacted columns are always left out.")
    ] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Diagnose a table, and write the answer with its evidence to one file."""
    check_free(to)
    with services_for(config) as services:
        found = _examined(services, TableName(table), window)
    saved = SavedCase(
        saved_at=datetime.now(UTC),
        version=version("waterline"),
        case=outgoing_case(found.case if values else found.case.without_samples(), found.case.contract),
        codes=found.diagnosis.codes,
    )
    write_case(to, saved, masking(Settings.load(config)))
    codes = ", ".join(found.diagnosis.codes) or "no failure mode matches"
    console.print(f"{to}: {codes}; {to.stat().st_size / 1024:.0f} KiB.", markup=False)


def _examined(services: Services, table: TableName, window: str | None) -> Examination:
    examiner = services.examiner
    return followed(examiner, lambda course: examiner.examine(table, chosen(window), course=course))


def _print(case: Case, diagnosis: Diagnosis, as_json: bool, saved: SavedCase | None) -> None:
    if as_json:
        print_exact(console, _as_json(case, diagnosis, saved))
        return
    if saved is not None:
        console.print(
            f"{case.observation.table.name}, saved {saved.saved_at:%Y-%m-%d %H:%M} UTC by Waterline {saved.version}; "
            + ("the same answer as then." if saved.codes == diagnosis.codes else _other_then(saved)),
            markup=False,
        )
    _print_diagnosis(diagnosis)
    if (deadline := deadline_of(case, diagnosis)) is not None:
        console.print("\nRecovery deadline", style="bold")
        for line in deadline_in_words(deadline, case.observation.table.read_at):
            console.print(line, markup=False)
    console.print("\nEvidence", style="bold")
    print_evidence(*case.evidence)


def _other_then(saved: SavedCase) -> str:
    return f"the answer then was {', '.join(saved.codes) or 'no match'}."


def _as_json(case: Case, diagnosis: Diagnosis, saved: SavedCase | None) -> dict[str, object]:
    deadline = deadline_of(case, diagnosis)
    told: dict[str, object] = {
        "table": case.observation.table.name,
        "metadata": case.observation.table.metadata_location,
        "window": case.window.model_dump(mode="json"),
        "codes": list(diagnosis.codes),
        "act": [
            {"code": mode.code, "headline": match.headline, "remedy": match.remedy.value, "do": match.what_to_do}
            for mode, match in diagnosis.to_act_on
        ],
        "recovery": deadline.model_dump(mode="json") if deadline is not None else None,
        "results": [result.model_dump(mode="json") for result in diagnosis.results],
        "evidence": [item.model_dump(mode="json", exclude={"finding"}) for item in case.evidence],
    }
    if saved is not None:
        told["saved"] = {"at": saved.saved_at.isoformat(), "codes": list(saved.codes)}
    return told


def _print_diagnosis(diagnosis: Diagnosis) -> None:
    matches = diagnosis.matches
    if diagnosis.decisive is None:
        console.print(diagnosis.nothing_matches, style="bold", markup=False)
    for number, (mode, match) in enumerate(matches, start=1):
        first = f"{number}. " if len(matches) > 1 else ""
        console.print(f"{first}{mode.code}: {match.headline}", style="bold", markup=False)
        _print_match(diagnosis, mode, match)
    if diagnosis.undecided:
        console.print("\nCannot tell", style="bold")
    needed: dict[str, list[str]] = {}
    for mode, told in diagnosis.undecided:
        console.print(f"   {mode.code}, {mode.title}", markup=False)
        for missing in told.missing:
            needed.setdefault(missing, []).append(mode.code)
    for missing, codes in needed.items():
        console.print(f"Missing for {', '.join(codes)}: {missing}", markup=False)
    if diagnosis.excluded:
        console.print("\nExcluded", style="bold")
    for mode, excluded in diagnosis.excluded:
        console.print(f"{mode.code}, {mode.title}: {excluded.reason}", markup=False)


def _print_match(diagnosis: Diagnosis, mode: Mode, match: Matches) -> None:
    console.print(f"   {match.what_to_do[0].upper()}{match.what_to_do[1:]} ({match.remedy.value}).", markup=False)
    for reason in match.reasons:
        console.print(f"   - {reason}", markup=False)
    rows = ", ".join(short(row) for row in match.rows[:8]) + (" …" if len(match.rows) > 8 else "")
    console.print(f"   {match.last_good_said}." + (f" Shown by {rows}." if rows else ""), markup=False)
    for alike in mode.false_positives:
        console.print(f"   Easily mistaken for it: {alike}", markup=False)
    if mode.act is not Act.NOTE:
        for code, how in diagnosis.told_apart(mode):
            console.print(f"   Not {code}: {how}", markup=False)
