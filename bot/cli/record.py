"""`waterline record`: the journal as a file, and the proof that nobody changed it."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from slack_sdk import WebClient

from bot.adapters.journal_sql.store import open_store
from bot.bootstrap import records, setups_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.cli.record_database import verify_database
from bot.cli.record_files import verify_files
from bot.domain.errors import CouldNotLook, UnknownIncident
from bot.domain.fold import fold
from bot.domain.ids import IncidentId
from bot.domain.posted_seals import Posted
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
    seen. With --posted an incident that was opened, approved, carried out or closed without a seal in its channel does
    not fit (1), and 3 says that a channel could not be read.
    """
    if files:
        verify_files(files, anchor or [], _posted(Settings.load(config)) if posted else None)
        return
    settings = Settings.load(config)
    in_slack = _posted(settings) if posted else None
    store = open_store(settings.journal_url)
    try:
        verify_database(store.journal, anchor or [], in_slack)
    finally:
        store.close()


def _posted(settings: Settings) -> Posted:
    token = SlackSecrets.bot_token()
    try:
        return posted_seals(WebClient(token=token.get_secret_value(), base_url=settings.slack.base_url))
    except CouldNotLook as error:
        return Posted(problem=str(error))


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
