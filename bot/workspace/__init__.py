"""A local Slack workspace: Slack's side of the wire on this machine.

Web API, Socket Mode, signed HTTP, a page that looks and behaves like Slack, and people to act as.
It imports nothing of the rest of the bot, and the bot cannot tell it from Slack.
"""

from bot.workspace.actor import Actor
from bot.workspace.clock import Rules
from bot.workspace.people import BotApp, CannotDo, Cast, Channel, Person, SlashCommand, UserGroup, default_cast
from bot.workspace.persons.modals import Outcome
from bot.workspace.seen import NotShown, SeenMessage
from bot.workspace.workspace import Workspace

__all__ = [
    "Actor",
    "BotApp",
    "CannotDo",
    "Cast",
    "Channel",
    "NotShown",
    "Outcome",
    "Person",
    "Rules",
    "SeenMessage",
    "SlashCommand",
    "UserGroup",
    "Workspace",
    "default_cast",
]
