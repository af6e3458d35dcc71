"""`waterline record`: the journal as a file, and the proof that nobody changed it."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from bot.adapters.journal_sql.store import open_store
from bot.bootstrap import records
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.domain.errors import UnknownIncident
from bot.domain.fold import fold
from bot.domain.ids import IncidentId
from bot.settings import Settings

app = typer.Typer(help="The record: verify its chain, export an incident.", no_args_is_help=True)
console = Console(soft_wrap=True, highlight=False)


@app.command()
def verify(config: ConfigOption = DEFAULT_CONFIG) -> None:
    """Recompute every hash; names the first entry of each incident that does not fit. Exit code 1 if any."""
    store = open_store(Settings.load(config).journal_url)
    try:
        faults = store.journal.verify()
        incidents = store.journal.incidents()
    finally:
        store.close()
    for fault in faults:
        console.print(f"{fault.incident_id} entry {fault.seq}: {fault.sentence}", markup=False)
    if faults:
        raise typer.Exit(code=1)
    console.print(f"{len(incidents)} incidents: every entry fits.")


@app.command()
def export(
    incident: Annotated[str, typer.Argument(help="The incident's id, for example wl-1.")],
    to: Annotated[Path, typer.Option(help="Folder for the file.")] = Path(),
    form: Annotated[Literal["markdown", "html"], typer.Option(help="Which form.")] = "html",
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Write one incident with timeline, ledger, evidence, decisions, actions, notices and review."""
    store = open_store(Settings.load(config).journal_url)
    try:
        entries = store.journal.entries(IncidentId(incident))
        known = store.journal.incidents()
    finally:
        store.close()
    if not entries:
        raise UnknownIncident(
            f"There is no incident {incident}.", f"Known are: {', '.join(known) or 'none'}.", "Name one of these."
        )
    path = to / f"{incident}.{'md' if form == 'markdown' else 'html'}"
    write = records().markdown if form == "markdown" else records().html
    path.write_text(write(fold(entries)), encoding="utf-8")
    console.print(str(path))
