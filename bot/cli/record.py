"""`waterline record`: the journal as a file, and the proof that nobody changed it."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from slack_sdk import WebClient

from bot.adapters.journal_sql.store import open_store
from bot.bootstrap import records, setups_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.cli.record_files import verify_files
from bot.domain.errors import UnknownIncident
from bot.domain.fold import fold
from bot.domain.ids import IncidentId
from bot.domain.posted_seals import Posted, faults_of
from bot.domain.seal import asked, seal_fault
from bot.service.record_carrying import schema_json
from bot.settings import Settings, SlackSecrets
from bot.slack.seals import posted_seals

app = typer.Typer(help="The record: verify its chain, export an incident.", no_args_is_help=True, add_completion=False)
console = Console(soft_wrap=True, highlight=False)
_ENDINGS = {"html": "html", "markdown": "md", "json": "json"}


@app.command()
def verify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Exported records (HTML, Markdown, JSON): proven by themselves, without the database."),
    ] = None,
    anchor: Annotated[
        list[str] | None, typer.Option(help="A seal as it was posted in an incident's thread, or its hash alone.")
    ] = None,
    posted: Annotated[bool, typer.Option(help="Read every seal that the bot has posted in Slack.")] = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Recompute every hash; names the first entry of each incident that does not fit. Exit code 1 if any.

    Of a FILE: 0 fits whole, its words too; 3 fits in part, as entries are withheld from it, or another version wrote
    it: then its words are not compared and prove nothing; 1 does not fit.

    A database or file that was rewritten as a whole fits itself: --anchor and --posted hold it against what Slack has
    seen.
    """
    if files:
        verify_files(files, anchor or [], _posted(Settings.load(config)) if posted else Posted())
        return
    settings = Settings.load(config)
    in_slack = _posted(settings) if posted else Posted()
    store = open_store(settings.journal_url)
    try:
        faults = list(store.journal.verify())
        incidents = store.journal.incidents()
        broken = {fault.incident_id for fault in faults}
        if anchor or posted:
            record = {each: store.journal.entries(each) for each in incidents if each not in broken}
            named = [seal for text in anchor or () for seal in asked(text, record)]
            held = [
                *(seal_fault(seal, record.get(seal.incident_id, ())) for seal in named),
                *faults_of(in_slack, record),
            ]
            faults += [fault for fault in held if fault is not None and fault.incident_id not in broken]
    finally:
        store.close()
    for fault in faults:
        console.print(f"{fault.incident_id} entry {fault.seq}: {fault.sentence}", markup=False)
    if faults:
        raise typer.Exit(code=1)
    console.print(f"{len(incidents)} incidents: every entry fits.")
    if anchor or posted:
        console.print(f"{len(named) + len(in_slack.seals)} seals: every one fits.")


def _posted(settings: Settings) -> Posted:
    token = SlackSecrets.bot_token()
    return posted_seals(WebClient(token=token.get_secret_value(), base_url=settings.slack.base_url))


@app.command()
def export(
    incident: Annotated[str, typer.Argument(help="The incident's id, for example wl-1.")],
    to: Annotated[Path, typer.Option(help="Folder for the file.")] = Path(),
    form: Annotated[Literal["html", "markdown", "json"], typer.Option(help="Which form.")] = "html",
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Write one incident with timeline, ledger, evidence, decisions, actions, notices, review and the proof of it all.

    Where the review proposes a change of the data contract, that is written beside it, as a patch.
    """
    settings = Settings.load(config)
    store = open_store(settings.journal_url)
    try:
        entries = store.journal.entries(IncidentId(incident))
        lines = store.journal.lines(IncidentId(incident))
        known = store.journal.incidents()
    finally:
        store.close()
    if not entries:
        raise UnknownIncident(
            f"There is no incident {incident}.", f"Known are: {', '.join(known) or 'none'}.", "Name one of these."
        )
    told, writer = fold(entries), records(setups_of(settings))
    write = {"html": writer.html, "markdown": writer.markdown, "json": writer.json}[form]
    files = {f"{incident}.{_ENDINGS[form]}": write(told, lines=lines)}
    if told.patch is not None and told.patch.diff:
        files[f"{incident}.contract.patch"] = told.patch.diff
    for name, text in files.items():
        (to / name).write_text(text, encoding="utf-8", newline="")
        console.print(str(to / name), markup=False)


@app.command()
def schema() -> None:
    """Print the JSON Schema of a record that was exported as JSON."""
    typer.echo(schema_json(), nl=False)
