"""Commands that are imported when they are asked for: help and small commands answer at once (everything together
takes seconds to import), and the bot's own process holds nothing of the demo and the lab."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class Late:
    """Where a command is, and what the list of commands says of it."""

    module: str
    name: str
    """Of a function, or of an app with commands of its own."""
    help: str
    of_checkout: str | None = None
    """The package that it needs, if that is in a checkout only and not part of what is installed."""

    @property
    def is_installed(self) -> bool:
        return self.of_checkout is None or find_spec(self.of_checkout) is not None

    def imported(self, command: str) -> Any:
        what = getattr(import_module(self.module), self.name)
        if isinstance(what, typer.Typer):
            app = what
        else:
            app = typer.Typer(add_completion=False)
            app.command(command)(what)
        made = typer.main.get_command(app)
        made.name = command
        return made


LATE: Mapping[str, Late] = {
    "diagnose": Late(
        "bot.cli.diagnosing",
        "diagnose",
        "Collect all evidence and say what happened to a table. Exit code 2: could not tell.",
    ),
    "trust": Late(
        "bot.cli.trust", "trust", "Say whether a table can be trusted. Exit code 0: yes. 1: no. 2: could not tell."
    ),
    "restore-check": Late(
        "bot.cli.trust",
        "restore_check",
        "Say whether a start from a restore point would be right. Exit code 0: yes. 1: no. 2: could not tell.",
    ),
    "commits": Late(
        "bot.cli.tables",
        "commits",
        "List the commits of a table, and the checkpoints that have no commit. Exit code 2: could not tell.",
    ),
    "evidence": Late(
        "bot.cli.tables", "evidence", "Run one evidence task and print its answer. Exit code 2: could not tell."
    ),
    "proposal": Late("bot.cli.proposal", "app", "Show, decide and run proposals. It works while Slack is down."),
    "record": Late("bot.cli.record", "app", "Verify, export, back up and restore the record."),
    "case": Late("bot.cli.diagnosing", "case_app", "Save a diagnosis with its evidence in one file."),
    "serve": Late(
        "bot.cli.serve",
        "serve",
        "Run the bot until you stop it. It reads its tokens from the environment (SLACK_BOT_TOKEN, …).",
    ),
    "web": Late("bot.cli.web", "app", "Serve the pages, the API and the MCP server until you stop it."),
    "doctor": Late(
        "bot.cli.doctor",
        "doctor",
        "Check everything that Waterline needs. Changes nothing. Exit code 1: something is missing. 2: could not tell.",
    ),
    "check-config": Late(
        "bot.cli.checking",
        "check_config",
        "Check the configuration, data contracts and own actions; connect to nothing. Exit code 1: a problem.",
    ),
    "tour": Late(
        "bot.cli.tour",
        "tour",
        "Play a recorded incident in a page that works like Slack. It needs no Java.",
    ),
    "demo": Late(
        "bot.cli.demo", "app", "Break a real table and recover it, in a page that works like Slack.", "bot.lab"
    ),
    "lab": Late(
        "bot.lab.commands", "app", "Run a real Flink job that writes a real Iceberg table on this machine.", "bot.lab"
    ),
    "tasks": Late("bot.cli.tables", "tasks", "List the evidence tasks, with what each asks, needs and costs."),
    "catalogue": Late(
        "bot.cli.catalogue", "catalogue", "Print all failure modes, actions and evidence tasks as Markdown."
    ),
    "lint": Late(
        "bot.cli.checking", "lint", "Check runbooks, messages and extensions. Exit code 1: there are problems."
    ),
}
"""In the order of the help: for an incident, to run the bot, to try it, to read and check what is in it."""


class OnDemand(TyperGroup):
    """A group whose commands are those of `LATE`. What only lists them imports none."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = {name: TyperCommand(name, help=late.help) for name, late in LATE.items() if late.is_installed}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that is run, imported now; else the error that names the nearest ones."""
        if args and args[0] in LATE and args[0] not in self.commands:
            ctx.fail(
                f"'{args[0]}' works in a checkout of Waterline. Run 'make install' there, then .venv/bin/waterline."
            )
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else LATE[name].imported(name), rest
