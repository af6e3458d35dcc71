"""`waterline record`: export an incident as a file, verify that nobody changed the record or a file of it, copy the
record while the bot writes it, and restore the copy."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from slack_sdk import WebClient

from bot.adapters.journal_sql.copying import copy_record, restore_record
from bot.adapters.journal_sql.journal import SqlJournal
from bot.adapters.journal_sql.store import existing_record, open_store
from bot.bootstrap import records, setups_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, text_of, write_into
from bot.incident.exported_record import asked, seal_fault, seal_of
from bot.incident.incident import Incident, fold
from bot.observation.errors import UnknownIncident
from bot.observation.ids import IncidentId
from bot.observation.sentences import counted, users_in
from bot.service.record import Proof
from bot.settings import Settings, SlackSecrets, masking
from bot.slack.directory import names_of

app = typer.Typer(help="Verify, export, back up and restore the record.", no_args_is_help=True, add_completion=False)
console = Console(soft_wrap=True, highlight=False)
_ENDINGS = {"html": "html", "markdown": "md", "json": "json"}
DOES_NOT_FIT, NOT_COMPARED = 1, 3
"""Exit codes; 2 is that of a command that could not be run."""


@app.command()
def verify(
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Exported records (HTML, Markdown or JSON). Without a file, the database is verified."),
    ] = None,
    anchor: Annotated[
        list[str] | None, typer.Option(help="A seal from the incident's thread or an export, or its hash.")
    ] = None,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Recompute every hash and name the first entry that does not fit.

    Exit code 0: everything fits. 1: something does not fit.
    3: the chain of a file fits, but its text could not be compared and proves nothing.

    A database that was rewritten as a whole still fits itself.
    Compare it with a seal that was kept elsewhere: pass it with --anchor.
    """
    if files:
        codes = {_verify_file(file, anchor or []) for file in files}
        code = next((each for each in (DOES_NOT_FIT, NOT_COMPARED) if each in codes), 0)
        if code:
            raise typer.Exit(code)
        return
    with existing_record(Settings.load(config)) as store:
        _verify_database(store.journal, anchor or [])


def _verify_database(journal: SqlJournal, anchors: Sequence[str]) -> None:
    """Exit code 1 if anything does not fit. Raises BadConfiguration for an anchor that is no seal."""
    faults = list(journal.verify())
    incidents = journal.incidents()
    broken = {fault.incident_id for fault in faults}
    if anchors:
        record = {each: journal.entries(each) for each in incidents if each not in broken}
        seals = [seal for text in anchors for seal in asked(text)]
        unlike = (
            seal_fault(seal, record.get(seal.incident_id, ())) for seal in seals if seal.incident_id not in broken
        )
        faults += [fault for fault in unlike if fault is not None]
    for fault in faults:
        console.print(f"{fault.incident_id} entry {fault.seq}: {fault.sentence}", markup=False)
    if faults:
        raise typer.Exit(DOES_NOT_FIT)
    console.print(f"{counted(len(incidents), 'incident')}: every entry fits.")
    if anchors:
        console.print(f"{counted(len(seals), 'seal')}: every one fits.")


def _verify_file(file: Path, anchors: Sequence[str]) -> int:
    """Its exit code: 0, DOES_NOT_FIT or NOT_COMPARED. Needs no database and no configuration."""
    proof = records().prove(text_of(file, "an exported record"))
    name = f"{file.name}, {proof.seal.incident_id}"
    faults = [proof.fault] if proof.fault else _unlike(proof, anchors)
    for fault in faults:
        console.print(f"Does not fit: {name}: {fault}", markup=False)
    if faults:
        return DOES_NOT_FIT
    if proof.not_compared is None:
        console.print(f"Fits whole: {name}: {proof.seal.seq} entries, and the text follows from them.", markup=False)
    else:
        console.print(
            f"Fits in part: {name}: the chain of {proof.seal.seq} entries is whole. "
            f"The text was not compared and proves nothing: {proof.not_compared}.",
            markup=False,
        )
    console.print(f"  Seal: {proof.seal}. Compare it with the one in the incident's thread.", markup=False)
    return 0 if proof.not_compared is None else NOT_COMPARED


def _unlike(proof: Proof, anchors: Sequence[str]) -> list[str]:
    """What does not fit between the file and seals that were kept elsewhere."""
    record = {proof.seal.incident_id: proof.entries}
    seals = [seal for text in anchors for seal in asked(text)]
    faults = [seal_fault(seal, record.get(seal.incident_id, ())) for seal in seals]
    return [fault.sentence for fault in faults if fault is not None]


@app.command()
def export(
    incident: Annotated[str, typer.Argument(help="Id of the incident, for example wl-1.")],
    to: Annotated[Path, typer.Option(help="Folder for the file. It must exist.")] = Path(),
    form: Annotated[Literal["html", "markdown", "json"], typer.Option(help="Format of the file.")] = "html",
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Write one incident to a file, with everything that was decided and the proof that nobody changed it.

    People are named if SLACK_BOT_TOKEN is set; otherwise their Slack ids are shown.
    """
    settings = Settings.load(config)
    with existing_record(settings) as store:
        entries = store.journal.entries(IncidentId(incident))
        lines = store.journal.lines(IncidentId(incident))
        known = store.journal.incidents()
    if not entries:
        raise UnknownIncident(
            f"There is no incident {incident}.",
            f"The record has: {', '.join(known) or 'no incidents'}.",
            "Check the id and the configuration file.",
        )
    told, writer = fold(entries), records(setups_of(settings))
    write = {"html": writer.html, "markdown": writer.markdown, "json": writer.json}[form]
    text = write(told, lines=lines, names=_names(settings, told))
    console.print(str(write_into(to, f"{incident}.{_ENDINGS[form]}", text)), markup=False)
    console.print(f"Seal: {seal_of(entries[-1])}", markup=False)


def _names(settings: Settings, incident: Incident) -> dict[str, str]:
    token = SlackSecrets().slack_bot_token
    if token is None:
        return {}
    client = WebClient(token=token.get_secret_value(), base_url=settings.slack.base_url)
    return names_of(client, users_in(entry.model_dump_json() for entry in incident.entries))


@app.command()
def backup(
    to: Annotated[Path, typer.Option(help="New file for the copy.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Copy the record to a new SQLite file and verify the copy. The bot may run meanwhile."""
    settings = Settings.load(config)
    copy_record(settings, to)
    with closing(open_store(f"sqlite:///{to.resolve()}", masking(settings))) as store:
        _verify_database(store.journal, ())
    console.print(f"Copied to {to}.", markup=False)


@app.command()
def restore(
    source: Annotated[Path, typer.Option("--from", help="File that `waterline record backup` wrote.")],
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Put a copy in the place of an empty record, in SQLite or PostgreSQL, and verify it. Stop every bot first."""
    settings = Settings.load(config)
    restore_record(settings, source)
    with existing_record(settings) as store:
        _verify_database(store.journal, ())
    console.print(f"Restored from {source}.", markup=False)
