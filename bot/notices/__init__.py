"""Notices: what one consumer is told, from typed facts and a template of `messages/`. Knows nothing of Slack's API."""

from bot.notices.facts import NoticeFacts
from bot.notices.gather import data_of, facts_for
from bot.notices.reading import observed_readers, why_unknown
from bot.notices.template import NoticeTemplate, render, scan

__all__ = [
    "NoticeFacts",
    "NoticeTemplate",
    "data_of",
    "facts_for",
    "observed_readers",
    "render",
    "scan",
    "why_unknown",
]
