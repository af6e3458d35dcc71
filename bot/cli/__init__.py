"""The command `waterline`."""

import logging
import sys

import structlog
import typer
from rich.console import Console

from bot.cli.on_demand import OnDemand
from bot.cli.options import exit_code_after
from bot.observation.errors import WaterlineError
from bot.observation.masking import Masking
from bot.observation.sentences import visible
from bot.pinned_jars import MachineError

app = typer.Typer(cls=OnDemand, no_args_is_help=True, pretty_exceptions_enable=False)


@app.callback()
def waterline() -> None:
    """Find out what happened to an Iceberg table that Flink writes, and repair it with approval."""


def main() -> None:
    """Run a command; every foreseen error is told in three parts, without a traceback.

    Logs of libraries (retries, for example) are for `serve`, which sets them up; a terminal shows answers.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    try:
        app()
    except WaterlineError as error:
        _tell(error.happened, error.found, error.remedy, exit_code_after(error))
    except MachineError as error:
        _tell(error.happened, error.found, error.next_step)


def _tell(happened: str, found: str, remedy: str, code: int = 1) -> None:
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    masked = Masking()
    for line in (happened, found, remedy):
        if line:
            console.print(masked.text(visible(line)), markup=False)
    sys.exit(code)
