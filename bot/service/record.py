"""The record of an incident as a document: Markdown, and one HTML file that needs nothing else.

Both show the same view; their words and layout are templates in `messages/record/`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import humanize
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.actions._effects import describe
from bot.domain.ids import short, short_job
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.ledger import event_range
from bot.domain.requirement_words import requirement_sentence
from bot.domain.timeline import sentence
from bot.service.ledger_view import ledger_view

_MENTION = re.compile(r"<[@#]([A-Z0-9]+)>")


@dataclass(frozen=True)
class Told:
    """One entry in words."""

    entry: Entry
    sentence: str


class Records:
    """Writes records with the templates of one folder."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds `incident.md.j2` and `incident.html.j2`."""
        self._html = _environment(folder, for_html=True)
        self._markdown = _environment(folder, for_html=False)

    def markdown(self, incident: Incident, *, names: Mapping[str, str] | None = None) -> str:
        """The record as Markdown. `names`: Slack user id -> name to show instead."""
        text = self._render(self._markdown, "incident.md.j2", incident, names)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def html(self, incident: Incident, *, names: Mapping[str, str] | None = None) -> str:
        """The record as one self-contained HTML file: everything from outside is escaped, no script runs."""
        return self._render(self._html, "incident.html.j2", incident, names)

    def _render(self, environment: Environment, name: str, incident: Incident, names: Mapping[str, str] | None) -> str:
        known = names or {}

        def person(user: str | None) -> str:
            return known.get(user, user) if user else "nobody"

        def plain(text: str) -> str:
            return _MENTION.sub(lambda found: person(found.group(1)), text)

        return environment.get_template(name).render(
            incident=incident,
            told=[Told(entry=entry, sentence=sentence(entry)) for entry in incident.entries],
            ledger=ledger_view(incident),
            person=person,
            plain=plain,
            last=incident.entries[-1],
            answered=[run for run in incident.runs.values() if run.evidence is not None],
            unanswered=[run for run in incident.runs.values() if run.evidence is None],
        )


def _environment(folder: Path, *, for_html: bool) -> Environment:
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=for_html,
        finalize=None if for_html else _markdown_escaped,
    )
    environment.filters |= {
        "moment": moment,
        "clock": lambda value: f"{value.astimezone(UTC):%H:%M:%S}",
        "count": lambda value, one, many: f"{value:,} {one if value == 1 else many}",
        "size": lambda value: humanize.naturalsize(value, binary=True),
        "short": short,
        "job": short_job,
        "event_range": lambda row: event_range(row.event_from, row.event_until),
        "cell": lambda value: str(value).replace("|", "\\|").replace("\n", " "),
        "requirement": requirement_sentence,
        "effect": describe,
    }
    return environment


def moment(value: datetime) -> str:
    """`3 Nov 2026, 09:12 UTC`."""
    utc = value.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y, %H:%M} UTC"


def _markdown_escaped(value: object) -> object:
    """No HTML through Markdown; everything else may be formatted by its author."""
    if isinstance(value, StrictUndefined):
        return value
    return str(value).replace("&", "&amp;").replace("<", "&lt;")
