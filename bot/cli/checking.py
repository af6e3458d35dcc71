"""`waterline check-config`: the configuration file and the files that it names, for the CI of whoever keeps it."""

import json
from typing import Annotated

import typer
from rich.console import Console

from bot.bootstrap import setups_of
from bot.cli.doctor import policies_of
from bot.cli.options import DEFAULT_CONFIG, ConfigOption
from bot.observation.sentences import counted
from bot.settings import Settings


def check_config(
    config: ConfigOption = DEFAULT_CONFIG,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of the file instead.")] = False,
) -> None:
    """Check the configuration, data contracts and own actions; connect to nothing. Exit code 1: a problem.

    With --schema, an editor can complete and check the settings.
    """
    if schema:
        typer.echo(json.dumps(Settings.model_json_schema(), indent=2))
        return
    console = Console(soft_wrap=True, highlight=False)
    settings = Settings.load(config)
    setups = setups_of(settings)
    remarks = list(policies_of(setups.values()))
    for what, _, found, remedy in remarks:
        console.print(f"{what}: {found}. {remedy}", markup=False)
    tables, jobs = counted(len(setups), "table"), counted(len(settings.jobs), "job")
    console.print(f"{config}: {tables}, {jobs}, no error, {counted(len(remarks), 'remark')}.", markup=False)
