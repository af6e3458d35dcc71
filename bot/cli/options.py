"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

ConfigOption = Annotated[
    Path,
    typer.Option(
        "--config", "-c", envvar="WATERLINE_CONFIG", help="The configuration file; see deploy/waterline.example.yaml."
    ),
]
DEFAULT_CONFIG = Path("waterline.yaml")
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
SinceOption = Annotated[
    str | None,
    typer.Option(help="Last good snapshot id (exclusive); without it the window is proposed from the ledger."),
]
