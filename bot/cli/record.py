"""`waterline record`: the journal as a file, and the proof that nobody changed it."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from slack_sdk import WebClient

from bot.adapters.journal_sql.store import open_store
from bot.bootstrap import records
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.domain.errors import UnknownIncident
from bot.domain.fold import fold
from bot.domain.ids import IncidentId
from bot.domain.seal import Seal, asked, seal_fault
from bot.settings import Settings, SlackSecrets
from bot.slack.seals import posted_seals

app = typer.Typer(help="The record: verify its chain, export an incident.", no_args_is_help=True)
console = Console(soft_wrap=True, highlight=False)


@app.command()
def verify(
    anchor: Annotated[
        list[str] | None, typer.Option(help="A seal as it was posted in an incident's thread, or its hash alone.")
    ] = None,
    posted: Annotated[bool, typer.Option(help="Read every seal that the bot has posted in Slack.")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Recompute every hash; names the first entry of each incident that does not fit. Exit code 1 if any.

    A database that was rewritten as a whole fits itself: --anchor and --posted hold it against what Slack has seen.
    """
    settings = Settings.load(config)
    seals = _posted(settings) if posted else ()
    store = open_store(settings.journal_url)
    try:
        faults = list(store.journal.verify())
        incidents = store.journal.incidents()
        broken = {fault.incident_id for fault in faults}
        if anchor or posted:
            record = {each: store.journal.entries(each) for each in incidents if each not in broken}
            seals += tuple(seal for text in anchor or () for seal in asked(text, record))
            held = [
                seal_fault(seal, record.get(seal.incident_id, ())) for seal in seals if seal.incident_id not in broken
            ]
            faults += [fault for fault in held if fault is not None]
    finally:
        store.close()
    for fault in faults:
        console.print(f"{fault.incident_id} entry {fault.seq}: {fault.sentence}", markup=False)
    if faults:
        raise typer.Exit(code=1)
    console.print(f"{len(incidents)} incidents: every entry fits.")
    if anchor or posted:
        console.print(f"{len(seals)} seals: every one fits.")


def _posted(settings: Settings) -> tuple[Seal, ...]:
    token = SlackSecrets.bot_token()
    return posted_seals(WebClient(token=token.get_secret_value(), base_url=settings.slack.base_url))


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
