"""Options that several commands share."""

import signal
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import JsonValue
from rich.console import Console

from bot.incident.asked import WINDOW_FORMS, asked_window
from bot.observation.errors import BadConfiguration, CouldNotLook, EvidenceFailed
from bot.observation.ids import UserId
from bot.observation.table import TableState, Window


class NobodyThere:
    """`Directory` where no Slack is connected."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        raise _no_slack(f"The user groups {', '.join(groups)} cannot be read here.")

    def absent(self, users: Iterable[UserId]) -> frozenset[UserId]:
        if asked := tuple(users):
            raise _no_slack(f"Whether {', '.join(asked)} are there cannot be looked up here.")
        return frozenset()


def _no_slack(happened: str) -> CouldNotLook:
    found = "Expected a connection to Slack; this command has none."
    return CouldNotLook(happened, found, "Set SLACK_BOT_TOKEN, or decide in Slack.")


COULD_NOT_TELL = 2
"""Exit code of a command that could not look: 0 means answered, 1 that something is wrong."""


def exit_code_after(error: Exception) -> int:
    """1: refused, or wrong as it was asked. 2: what was asked about could not be looked at."""
    return COULD_NOT_TELL if isinstance(error, CouldNotLook | EvidenceFailed) else 1


_EXACT = 2**53 - 1
"""The largest whole number that JavaScript, jq and all who read JSON numbers as doubles keep as it is."""


def exact(told: Any) -> JsonValue:
    """The same, with whole numbers beyond +-(2^53 - 1) as text: Iceberg's snapshot ids are such, and rounded they name
    another snapshot or none. `told`: what `model_dump(mode="json")` gives."""
    if isinstance(told, dict):
        return {key: exact(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [exact(value) for value in told]
    return str(told) if isinstance(told, int) and abs(told) > _EXACT else told


def print_exact(console: Console, told: Any) -> None:
    console.print_json(data=exact(told))


ConfigOption = Annotated[
    Path,
    typer.Option(
        "--config",
        "-c",
        envvar="WATERLINE_CONFIG",
        help="Configuration file. deploy/waterline.example.yaml is an example.",
    ),
]
DEFAULT_CONFIG = Path("waterline.yaml")
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON. Snapshot ids are text, because JSON numbers would round them.")
]
TableArgument = Annotated[str, typer.Argument(help="The table as namespace.table.")]
WindowOption = Annotated[
    str | None,
    typer.Option(
        "--window",
        "-w",
        help=f"{WINDOW_FORMS}. The lower bound is exclusive. By default the window is chosen from the ledger.",
    ),
]


def text_of(path: Path, what: str) -> str:
    """The text of a file that a person named; `what` it should be. Raises BadConfiguration."""
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise BadConfiguration(
            f"{path} cannot be read.",
            f"Expected {what} in UTF-8; found {type(error).__name__}: {_reason(error)}.",
            "Check the path and the permissions of the file.",
        ) from error


def write_into(folder: Path, name: str, text: str) -> Path:
    """Where the text was written. Raises BadConfiguration."""
    path = folder / name
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise BadConfiguration(
            f"{path} cannot be written.",
            f"Expected a folder {folder} that you may write into; found {type(error).__name__}: {_reason(error)}.",
            "Make the folder, or name another one.",
        ) from error
    return path


def _reason(error: OSError | UnicodeDecodeError) -> str:
    return error.strerror or "" if isinstance(error, OSError) else error.reason


def asked_to_stop() -> threading.Event:
    """Set from Ctrl-C on, or once the process is asked to end."""
    stopping = threading.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, lambda *_: stopping.set())
    return stopping


def chosen(window: str | None) -> Callable[[TableState], Window] | None:
    return None if window is None else lambda table: asked_window(window, table)
