"""How the templates of a record are read: what is missing is an error, and nothing from outside becomes markup."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import humanize
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markdown_it import MarkdownIt
from markupsafe import Markup

from bot.actions._effects import describe
from bot.domain.ids import short, short_job, short_operator
from bot.domain.ledger import LedgerRow, change, event_range
from bot.domain.requirement_words import requirement_sentence
from bot.domain.sentences import clock_time, counted

_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
"""Marks that a backslash makes literal in CommonMark."""
Kind = Literal["page", "body", "file"]


def environment(folder: Path, kind: Kind) -> Environment:
    """`page`: HTML, everything is escaped. `body`: Markdown that becomes HTML, so every value is literal text. `file`:
    Markdown that people read as it stands, so only what would become HTML is escaped."""
    made = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=kind == "page",
        finalize=_FINALIZE[kind],
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
        "cell": _cell if kind == "file" else str,
        "literal": lambda value: Markup(f"`{value}`"),  # noqa: S704 - hashes only
        "verbatim": Markup if kind == "body" else str,
        "requirement": requirement_sentence,
        "effect": describe,
    }
    return made


@dataclass(frozen=True)
class Section:
    """One `##` of the Markdown, as HTML."""

    id: str
    title: str
    body: Markup


_RENDER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["link", "image", "autolink", "lheading"])
_SECTION = re.compile(r"<h2>(.*?)</h2>\n(.*?)(?=<h2>|\Z)", re.DOTALL)
_IDS = {"Contract review": "review", "Chain of entries": "proof"}
_LOOKS = (
    (re.compile(r"(<h3>.*?)(?=<h3>|\Z)", re.DOTALL), r"<article>\1</article>\n"),
    (re.compile(r"\n(?=</?t[dh]|</tr>)"), ""),
    (re.compile(r"<tr>(?=(?:(?!</tr>).)*<td>taken back</td>)"), '<tr class="gone">'),
    (re.compile(r"<table>.*?</table>", re.DOTALL), r'<div class="scroll">\g<0></div>'),
    (re.compile(r"<p><strong>(Confirmed|Inconclusive)\.</strong>"), r'<p><span class="chip verdict-\1">\1</span>'),
    (re.compile(r"<p><strong>Ruled out\.</strong>"), '<p><span class="chip verdict-Ruled">Ruled out</span>'),
    (re.compile(r"<p>(?=\w+ v\d+, asked by |Proposed by |Queued )"), '<p class="pin">'),
    (re.compile(r"<p>(What it does|What goes on record|What must hold|Verification):</p>"), r"<h4>\1</h4>"),
    (re.compile(r"<li>yes: "), '<li class="yes">'),
    (re.compile(r"<li><strong>no</strong>: "), '<li class="no">'),
    (re.compile(r"<li>could not look: "), '<li class="dunno">'),
    (
        re.compile(r"<li>(\d\d:\d\d:\d\d) (.+?): (.*)</li>"),
        r'<li><time>\1</time><span class="who">\2</span><span class="what">\3</span></li>',
    ),
)
"""How parts of a section are marked for the style sheet; the text stays."""


def sections_of(markdown: str) -> tuple[Section, ...]:
    """The sections below the summary, for which the page has a front of its own."""
    found = []
    for title, body in _SECTION.findall(_RENDER.render(markdown)):
        for pattern, shown in _LOOKS:
            body = pattern.sub(shown, body)
        found.append(Section(_IDS.get(title, title.lower()), title, Markup(body)))  # noqa: S704 - values are escaped
    return tuple(each for each in found if each.id != "summary")


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


def _cell(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _as_text(value: object) -> object:
    """Every mark escaped, in one line: no text from outside is a heading, a list, a link or bold."""
    if isinstance(value, StrictUndefined | Markup):
        return value
    return _PUNCTUATION.sub(r"\\\g<0>", " ".join(str(value).split()) if "\n" in str(value) else str(value))


def _markdown_escaped(value: object) -> object:
    """No HTML through Markdown, except what is Markdown already; everything else may be formatted by its author."""
    if isinstance(value, StrictUndefined | Markup):
        return value
    return str(value).replace("&", "&amp;").replace("<", "&lt;")


_FINALIZE: Mapping[Kind, Callable[[object], object] | None] = {
    "page": None,
    "body": _as_text,
    "file": _markdown_escaped,
}
