"""How the templates of a record are read: what is missing is an error, and nothing from outside becomes markup."""

from datetime import UTC, datetime
from pathlib import Path

import humanize
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup

from bot.actions._effects import describe
from bot.domain.clock_time import clock_time
from bot.domain.ids import short, short_job, short_operator
from bot.domain.ledger import LedgerRow, change, event_range
from bot.domain.requirement_words import requirement_sentence
from bot.domain.sentences import counted


def environment(folder: Path, *, for_html: bool) -> Environment:
    """For HTML everything is escaped; for Markdown what would become HTML is."""
    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=for_html,
        finalize=None if for_html else _markdown_escaped,
    )
    made.filters |= {
        "moment": moment,
        "date": lambda value: f"{value.astimezone(UTC).day} {value.astimezone(UTC):%b %Y}",
        "day": lambda value: f"{value.astimezone(UTC):%Y-%m-%d}",
        "clock": lambda value: f"{value.astimezone(UTC):%H:%M:%S}",  # only under a day of its own
        "time": lambda value, beside: clock_time(value, beside, seconds=True),
        "count": counted,
        "size": lambda value: humanize.naturalsize(value, binary=True),
        "short": short,
        "job": short_job,
        "operator": short_operator,
        "event_range": lambda row: event_range(row.event_from, row.event_until),
        "change": change,
        "readers": _readers,
        "of_writers": _of_writers,
        "cell": lambda value: str(value).replace("|", "\\|").replace("\n", " "),
        "requirement": requirement_sentence,
        "effect": describe,
    }
    return made


def moment(value: datetime) -> str:
    """`3 Nov 2026, 09:12 UTC`."""
    utc = value.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y, %H:%M} UTC"


def _readers(row: LedgerRow, readers_known: bool) -> str:
    """Who read it; nobody is another thing than nobody knows."""
    return ", ".join(sorted({run.consumer for run in row.readers})) or ("–" if readers_known else "unknown")


def _of_writers(row: LedgerRow, told: tuple[int, ...] | None) -> str:
    """Attempts or subtasks: `0, 1`; unknown where the names of the files do not tell them."""
    if told is None:
        return "unknown" if row.added_files or row.added_delete_files else "–"
    return ", ".join(map(str, told)) or "–"


def _markdown_escaped(value: object) -> object:
    """No HTML through Markdown, except what is Markdown already; everything else may be formatted by its author."""
    if isinstance(value, StrictUndefined | Markup):
        return value
    return str(value).replace("&", "&amp;").replace("<", "&lt;")
