"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from bot.domain.asked_window import FORMS, asked_window
from bot.domain.table import TableState, Window

ConfigOption = Annotated[
    Path,
    typer.Option(
        "--config", "-c", envvar="WATERLINE_CONFIG", help="The configuration file; see deploy/waterline.example.yaml."
    ),
]
DEFAULT_CONFIG = Path("waterline.yaml")
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json", help="Print JSON instead of a table; snapshot ids are text, as JSON numbers they are rounded."
    ),
]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        "-w",
        help=f"{FORMS}; the lower bound is exclusive. Without it the window is proposed from the ledger.",
    ),
]


def chosen(window: str | None) -> Callable[[TableState], Window] | None:
    """The option as the examiner takes it."""
    return None if window is None else lambda table: asked_window(window, table)
