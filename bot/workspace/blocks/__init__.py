"""Block Kit as strict as Slack: what a message or a view may contain, and what is said when it may not.

Limits come from Slack's Block Kit reference; the official Python models miss several of them
(a field above 2000 characters, equal action ids, a table's size, 51 blocks, the sum of all text).
"""

from bot.workspace.blocks.layout import check_message, check_view

__all__ = ["check_message", "check_view"]
