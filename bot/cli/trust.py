"""The gates: `waterline trust` for pipelines, `waterline restore-check` before a job is started. They go by their exit
codes: 0 yes, 1 no, 2 could not tell."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import existing_record
from bot.adapters.lineage import NoLineage
from bot.adapters.table_files import FolderOfTable
from bot.adapters.trust_server import restore_check_from, trust_from
from bot.bootstrap import restore_service, setups_of
from bot.bootstrap.watching import findings_of
from bot.cli.options import COULD_NOT_TELL, DEFAULT_CONFIG, ConfigOption, JsonOption, TableArgument
from bot.history.prediction import RestoreCheck, RestoreVerdict
from bot.incident.trust import Basis, Trust, TrustState
from bot.observation.errors import BadConfiguration, WaterlineError
from bot.observation.ids import TableName, short_job
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.trust import TrustService
from bot.settings import Settings, WebSecrets


@contextmanager
def trust_service(settings: Settings) -> Iterator[TrustService]:
    """Only what tells whether tables can be relied on: catalog and record, read by somebody beside the bot.

    Raises BadConfiguration, also where there is no record: an empty one would know of no incident.
    """
    file = settings.journal_url.removeprefix("sqlite:///")
    if file != settings.journal_url and not Path(file).exists():
        raise BadConfiguration(
            f"There is no record at {file}.",
            "Expected the journal of the Waterline that watches these tables; without it no incident is known.",
            "Run this where the bot keeps its record, name its database in `journal.url`, or ask it by its address.",
        )
    with ExitStack() as stack:
        store = stack.enter_context(existing_record(settings))
        now = store.clock
        catalog = PyIcebergCatalog(settings.catalog.name, settings.catalog.properties, now)
        observer = Observer(catalog, setups_of(settings), jobs={}, reads=NoLineage(), files=FolderOfTable())
        findings, is_marked = findings_of(settings, store), settings.catalog.mark != "none"
        yield TrustService(IncidentStore(store.journal, now), observer, now, findings=findings, is_marked=is_marked)


console = Console(soft_wrap=True, highlight=False)
errors = Console(stderr=True, soft_wrap=True, highlight=False)
_NO = 1
_OF_CHECK = {RestoreVerdict.RIGHT: 0, RestoreVerdict.WRONG: _NO, RestoreVerdict.CANNOT_TELL: COULD_NOT_TELL}


@contextmanager
def _could_not_tell() -> Iterator[None]:
    """What cannot be asked or looked at is said, and is never taken for a yes or a no."""
    try:
        yield
    except WaterlineError as error:
        for line in (error.happened, error.found, error.remedy):
            errors.print(line, markup=False)
        raise typer.Exit(COULD_NOT_TELL) from error


def _token() -> str | None:
    token = WebSecrets().waterline_web_token
    return token.get_secret_value() if token is not None else None


UrlOption = Annotated[
    str | None,
    typer.Option(
        envvar="WATERLINE_URL",
        help="Ask the Waterline at this address, with the token in WATERLINE_WEB_TOKEN. Default: look from here.",
    ),
]


class Required(StrEnum):
    """What a pipeline may ask for."""

    TRUSTED = "trusted"
    VERIFIED = "verified"


def trust(
    table: TableArgument,
    require: Annotated[
        Required,
        typer.Option(
            help="trusted: no incident doubts the table. verified: its newest incident also ended with a proof."
        ),
    ] = Required.TRUSTED,
    url: UrlOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say whether a table can be trusted. Exit code 0: yes. 1: no. 2: could not tell."""
    with _could_not_tell():
        name = TableName(table)
        if url is not None:
            found = trust_from(url, name, _token())
        else:
            with trust_service(Settings.load(config)) as service:
                found = service.trust(name)
    if as_json:
        console.print_json(found.model_dump_json())
    else:
        _print(found)
    raise typer.Exit(exit_code(found, require))


def exit_code(found: Trust, require: Required) -> int:
    """0: what is required is there; 1: it is known not to be; 2: it could not be told."""
    match found.state:
        case TrustState.UNKNOWN:
            return COULD_NOT_TELL
        case TrustState.UNDER_REVIEW:
            return _NO
        case TrustState.TRUSTED:
            is_enough = require is Required.TRUSTED or found.basis is Basis.VERIFIED
            return 0 if is_enough else _NO


def _print(found: Trust) -> None:
    console.print(f"{found.table}: {found.state.value.replace('-', ' ')}. {found.why}", markup=False)
    for doubt in found.doubts:
        if doubt not in found.why:
            console.print(f"  {doubt}", markup=False)
    if found.snapshot is not None:
        console.print(f"  snapshot {found.snapshot} ({found.basis.value.replace('-', ' ')})", markup=False)
    console.print(f"  {found.advice}", markup=False)
    if not found.is_trusted:
        for pin in found.pins:
            console.print(f"  {pin.engine}: {pin.exact}", markup=False)


def restore_check(
    table: TableArgument,
    path: Annotated[
        str,
        typer.Option(
            "--from", help="Folder of the checkpoint or savepoint, or its _metadata: s3://…, file:///… or a local path."
        ),
    ],
    url: UrlOption = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say whether a start from a restore point would be right. Exit code 0: yes. 1: no. 2: could not tell."""
    with _could_not_tell():
        name = TableName(table)
        if url is not None:
            found = restore_check_from(url, name, path, _token())
        else:
            with restore_service(Settings.load(config), name) as service:
                found = service.check(name, path, anywhere=True)
    if as_json:
        console.print_json(found.model_dump_json())
    else:
        _print_check(found)
    raise typer.Exit(_OF_CHECK[found.verdict])


def _print_check(found: RestoreCheck) -> None:
    what = f" ({found.kind.value} {found.checkpoint} of run {short_job(found.run)})" if found.kind is not None else ""
    console.print(f"{found.verdict.value.replace('-', ' ')}: {found.path}{what}", markup=False)
    if not found.tables or found.reason not in {f"{each.table}: {each.reason}" for each in found.tables}:
        console.print(f"  {found.reason}", markup=False)
    for each in found.tables:
        told = f"{each.table}: {each.verdict.value.replace('-', ' ')}. {each.reason}"
        if told not in found.reason:
            console.print(f"  {told}", markup=False)
    if found.instead is not None:
        console.print(f"  Right instead: {found.instead}", markup=False)
    if found.would_decide is not None:
        console.print(f"  What would decide it: {found.would_decide}", markup=False)
    for missing in found.not_seen:
        console.print(f"  Could not look at {missing}", markup=False)
