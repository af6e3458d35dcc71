"""Slack's Web API: all methods that the workspace knows, by name."""

from bot.workspace.api import auth, chat, conversations, files, reactions, users, views
from bot.workspace.api.call import Method

METHODS: dict[str, Method] = {
    **auth.METHODS,
    **chat.METHODS,
    **conversations.METHODS,
    **files.METHODS,
    **reactions.METHODS,
    **users.METHODS,
    **views.METHODS,
}
