"""Slack's Web API: all methods that the workspace knows, by name."""

from bot.workspace.api.call import Method
from bot.workspace.api.chat import CHAT, FILES
from bot.workspace.api.conversations import CONVERSATIONS
from bot.workspace.api.users import AUTH, USERS
from bot.workspace.api.views import VIEWS

METHODS: dict[str, Method] = {
    **AUTH,
    **CHAT,
    **CONVERSATIONS,
    **FILES,
    **USERS,
    **VIEWS,
}
