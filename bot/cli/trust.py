"""`waterline trust`: the gate for pipelines. It goes by its exit code: 0 yes, 1 no, 2 could not tell."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import existing_record
from bot.adapters.lineage import AllLineage
from bot.adapters.table_files import FolderOfTable
from bot.adapters.trust_server import trust_from
from bot.bootstrap import setups_of
from bot.bootstrap.watching import findings_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption, JsonOption
from bot.domain.errors import BadConfiguration, WaterlineError
from bot.domain.ids import TableName
from bot.domain.trust import Basis, Trust, TrustState
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.trust import TrustDesk
from bot.settings import Settings, WebSecrets


@contextmanager
def trust_desk(settings: Settings) -> Iterator[TrustDesk]:
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
        observer = Observer(catalog, setups_of(settings), jobs={}, reads=AllLineage([]), files=FolderOfTable())
        findings, is_marked = findings_of(settings, store), settings.catalog.mark != "none"
        yield TrustDesk(IncidentStore(store.journal, now), observer, now, findings=findings, is_marked=is_marked)


console = Console(soft_wrap=True, highlight=False)
errors = Console(stderr=True, soft_wrap=True, highlight=False)
_NO, _COULD_NOT_TELL = 1, 2


class Required(StrEnum):
    """What a pipeline may ask for."""

    TRUSTED = "trusted"
    VERIFIED = "verified"


def trust(
    table: Annotated[str, typer.Argument(help="The table as namespace.table.")],
    require: Annotated[
        Required,
        typer.Option(
            help="trusted: no incident doubts the table. verified: its newest incident also ended with a proof."
        ),
    ] = Required.TRUSTED,
    url: Annotated[
        str | None,
        typer.Option(
            envvar="WATERLINE_URL",
            help="Ask the Waterline at this address, with the token in WATERLINE_WEB_TOKEN. Default: read the record.",
        ),
    ] = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say whether a table can be trusted. Exit code 0: yes. 1: no. 2: could not tell."""
    try:
        found = _asked(url, TableName(table)) if url is not None else _looked(TableName(table), config)
    except WaterlineError as error:
        for line in (error.happened, error.found, error.remedy):
            errors.print(line, markup=False)
        raise typer.Exit(_COULD_NOT_TELL) from error
    if as_json:
        console.print_json(found.model_dump_json())
    else:
        _print(found)
    raise typer.Exit(exit_code(found, require))


def exit_code(found: Trust, require: Required) -> int:
    """0: what is required is there; 1: it is known not to be; 2: it could not be told."""
    match found.state:
        case TrustState.UNKNOWN:
            return _COULD_NOT_TELL
        case TrustState.UNDER_REVIEW:
            return _NO
        case TrustState.TRUSTED:
            is_enough = require is Required.TRUSTED or found.basis is Basis.VERIFIED
            return 0 if is_enough else _NO


def _asked(url: str, table: TableName) -> Trust:
    token = WebSecrets().waterline_web_token
    return trust_from(url, table, token.get_secret_value() if token is not None else None)


def _looked(table: TableName, config: ConfigOption) -> Trust:
    with trust_desk(Settings.load(config)) as desk:
        return desk.trust(table)


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
