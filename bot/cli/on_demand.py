"""Commands that are imported when they are asked for: the bot's own process holds nothing of the demo and the
lab, and pages and MCP server only where they are served."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

_LATE = {"demo": "bot.cli.demo", "lab": "bot.lab.commands", "web": "bot.cli.web"}
"""Command -> the module whose `app` it is."""


class OnDemand(TyperGroup):
    """A group with the commands that were added to it, and those of `_LATE`."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help."""
        return [*super().list_commands(ctx), *_LATE]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; imported now if it is a late one."""
        if cmd_name not in _LATE:
            return super().get_command(ctx, cmd_name)
        late: typer.Typer = import_module(_LATE[cmd_name]).app
        command = typer.main.get_command(late)
        command.name = cmd_name
        return command
