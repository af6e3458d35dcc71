"""Notices: what one consumer is told, from typed facts and a template of `messages/`. Knows nothing of Slack's API."""

from bot.notices.facts import NoticeFacts
from bot.notices.gather import facts_for
from bot.notices.lint import lint
from bot.notices.template import NoticeTemplate, render, scan

__all__ = ["NoticeFacts", "NoticeTemplate", "facts_for", "lint", "render", "scan"]
