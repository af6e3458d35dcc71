"""`waterline tour`: the whole bot on a recorded incident, in a page that works like Slack. Nothing real is touched."""

import logging
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr
from rich.console import Console
from slack_sdk import WebClient

from bot.cli.options import asked_to_stop
from bot.observation.errors import BadConfiguration
from bot.ports import Clock
from bot.settings import Settings, SlackSecrets
from bot.slack.directory import EVENTS, SCOPES
from bot.tour.recording import PlayedClock, Recording, find_recording, recordings
from bot.workspace import Workspace
from bot.workspace.people import BotApp

if TYPE_CHECKING:
    from bot.bootstrap import Built
    from bot.bootstrap.outside import Outside

FIRST = "rows-twice"
"""The incident that is played where none is named."""
CHANNEL = "orders-oncall"


def tour(
    name: Annotated[str, typer.Argument(help="Which recorded incident; --list shows them.", metavar="[NAME]")] = FIRST,
    show: Annotated[bool, typer.Option("--list", help="List the recorded incidents.")] = False,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page. 0 picks a free one.")] = 0,
) -> None:
    """Play a recorded incident in a page that works like Slack. It needs no Java."""
    console = Console(soft_wrap=True, highlight=False)
    if show:
        for each in recordings():
            console.print(f"{each:<16}{find_recording(each).title}", markup=False)
        return
    recording = find_recording(name)
    logging.basicConfig(level=logging.ERROR)
    stopping = asked_to_stop()
    with playing(recording, stopping, port=port) as workspace:
        console.print(f"\n  Open  {workspace.url}", style="bold")
        console.print(f"  A recording: {recording.title} Nothing real is touched.", markup=False)
        console.print(
            "  You are Ana, on call: type  /waterline open  in #orders-oncall. Ctrl-C ends everything.", markup=False
        )
        if browser:
            webbrowser.open(workspace.url)
        stopping.wait()


@contextmanager
def playing(
    recording: Recording, stopping: threading.Event, *, port: int = 0, pause: Callable[[float], None] = time.sleep
) -> Iterator[Workspace]:
    """A workspace with the bot in it, which works on the recorded world. Raises BadConfiguration."""
    with ExitStack() as stack:
        served = Workspace(app=BotApp(events=frozenset(EVENTS)), scopes=frozenset(SCOPES)).serve(port=port)
        try:
            workspace = stack.enter_context(served)
        except OSError as error:
            raise BadConfiguration("The page was not started.", str(error), "Choose another `--port`.") from error
        set_back = workspace.world.clock.advance
        clock = PlayedClock(recording.moments[0].at, set_back)
        set_back(recording.moments[0].at - datetime.now(UTC))

        def outside(settings: Settings, now: Clock, stack: ExitStack) -> "Outside":
            from bot.tour.replaying import Replay  # imported behind the bot's door, as all that is slow to import

            return Replay(recording, clock, pause=pause).outside(settings, now, stack)

        with bot_in(workspace, recording.settings, stopping, outside, clock) as built:
            _welcome(workspace, recording, built.services.opening.runbooks[recording.runbook].title)
            yield workspace


@contextmanager
def bot_in(
    workspace: Workspace,
    settings: dict[str, Any],
    stopping: threading.Event,
    outside: Callable[[Settings, Clock, ExitStack], "Outside"],
    clock: Clock,
) -> Iterator["Built"]:
    """The bot in this process, with a record that is thrown away. `settings`: its jobs and tables."""
    from bot.cli.serve import running

    with TemporaryDirectory(prefix="waterline-tour-") as folder:
        made = Settings.model_validate(
            {
                **settings,
                "home": Path(folder),
                "catalog": {"name": "lake", "properties": {"type": "sql", "uri": "sqlite://"}, "mark": "none"},
                "slack": {"mode": "socket", "base_url": workspace.api_url, "min_message_interval": 0},
            }
        )
        secrets = SlackSecrets(
            slack_bot_token=SecretStr(workspace.bot_token), slack_app_token=SecretStr(workspace.app_token)
        )
        with running(made, secrets, stopping, outside=outside, clock=clock) as (_, built):
            yield built


def _welcome(workspace: Workspace, recording: Recording, symptom: str) -> None:
    channel = next(each.id for each in workspace.cast.channels if each.name == CHANNEL)
    text = (
        f":information_source: *This is a recording of a real incident.* {recording.title}\n"
        "The bot is real: it diagnoses what was recorded, and asks for real approval. No table and no job is touched.\n"
        f"You are Ana, on call. Type `/waterline open` and choose “{symptom}”. "
        "Approve as Ben, and read the notices as Dana: switch people at the top left."
    )
    WebClient(token=workspace.bot_token, base_url=workspace.api_url).chat_postMessage(channel=channel, text=text)
