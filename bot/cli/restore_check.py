"""`waterline restore-check`: the gate before a job is started. It goes by its exit code, as `trust` does."""

from typing import Annotated

import typer
from rich.console import Console

from bot.adapters.trust_server import restore_check_from
from bot.bootstrap import restore_desk
from bot.cli.options import COULD_NOT_TELL, DEFAULT_CONFIG, ConfigOption, JsonOption
from bot.domain.errors import WaterlineError
from bot.domain.ids import TableName, short_job
from bot.history.prediction import RestoreCheck, RestoreVerdict
from bot.settings import Settings, WebSecrets

console = Console(soft_wrap=True, highlight=False)
errors = Console(stderr=True, soft_wrap=True, highlight=False)
EXIT_CODES = {RestoreVerdict.RIGHT: 0, RestoreVerdict.WRONG: 1, RestoreVerdict.CANNOT_TELL: COULD_NOT_TELL}


def restore_check(
    table: Annotated[str, typer.Argument(help="The table as namespace.table.")],
    path: Annotated[
        str,
        typer.Option(
            "--from", help="Folder of the checkpoint or savepoint, or its _metadata: s3://…, file:///… or a local path."
        ),
    ],
    url: Annotated[
        str | None,
        typer.Option(
            envvar="WATERLINE_URL",
            help="Ask the Waterline at this address, with the token in WATERLINE_WEB_TOKEN. Default: look from here.",
        ),
    ] = None,
    as_json: JsonOption = False,
    config: ConfigOption = DEFAULT_CONFIG,
) -> None:
    """Say whether a start from a restore point would be right. Exit code 0: yes. 1: no. 2: could not tell."""
    try:
        name = TableName(table)
        found = _asked(url, name, path) if url is not None else _looked(name, path, config)
    except WaterlineError as error:
        for line in (error.happened, error.found, error.remedy):
            errors.print(line, markup=False)
        raise typer.Exit(COULD_NOT_TELL) from error
    if as_json:
        console.print_json(found.model_dump_json())
    else:
        _print(found)
    raise typer.Exit(EXIT_CODES[found.verdict])


def _asked(url: str, table: TableName, path: str) -> RestoreCheck:
    token = WebSecrets().waterline_web_token
    return restore_check_from(url, table, path, token.get_secret_value() if token is not None else None)


def _looked(table: TableName, path: str, config: ConfigOption) -> RestoreCheck:
    with restore_desk(Settings.load(config), table) as desk:
        return desk.check(table, path, anywhere=True)


def _print(found: RestoreCheck) -> None:
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
