"""The record of an incident as a file that needs nothing else: HTML for people, Markdown, JSON for programs.

Words and layout of the first two are templates in `messages/record/`. Each can carry the entries as they were stored,
and be proven from them alone; the JSON is these entries.

How an exported record carries its chain: as JSON, or packed into a comment of HTML and Markdown.

How the templates of a record are read: what is missing is an error, and nothing from outside becomes markup.
"""

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from html import escape
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Literal

import humanize
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markdown_it import MarkdownIt
from markupsafe import Markup
from pydantic import ValidationError

from bot.actions._effects import describe
from bot.incident.exported_record import (
    FORMAT,
    Carried,
    Seal,
    StoredEntry,
    chain_of,
    entries_of,
    fault_in,
    lines_of,
    seal_of,
    withheld_in,
)
from bot.incident.hidden_values import withheld_from
from bot.incident.incident import Incident, fold
from bot.incident.journal import Entry, Line
from bot.incident.proposal import requirement_sentence
from bot.incident.review import metrics, review_items
from bot.incident.setup import TableSetup
from bot.notices.forms import as_markdown
from bot.notices.template import day, moment
from bot.observation.contract import TableContract
from bot.observation.errors import BadConfiguration, first_problem
from bot.observation.ids import IncidentId, TableName, short, short_job, short_operator
from bot.observation.ledger import LedgerRow, change, event_range
from bot.observation.sentences import MENTION, clock_time, counted, inert
from bot.service.ledger_picture import ledger_view
from bot.service.timeline import sentence

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
        "date": day,
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
    (
        re.compile(r"<article><h3>Excluded</h3>(.*?)</article>", re.DOTALL),
        r"<article><details><summary>Excluded</summary>\1</details></article>",
    ),
    (
        re.compile(r"<blockquote>.*?</blockquote>", re.DOTALL),
        r"<details><summary>The text</summary>\g<0></details>",
    ),
    (re.compile(r"\n(?=</?t[dh]|</tr>)"), ""),
    (re.compile(r"<tr>(?=(?:(?!</tr>).)*<td>taken back</td>)"), '<tr class="gone">'),
    (re.compile(r"<table>.*?</table>", re.DOTALL), r'<div class="scroll">\g<0></div>'),
    (re.compile(r"<p><strong>Could not check\.</strong>"), '<p><span class="chip warn">Could not check</span>'),
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


Form = Literal["html", "markdown", "json"]
_PACKED = re.compile(r"<!-- waterline-record:\s*([A-Za-z0-9+/=\s]+?)\s*-->")
_WIDTH = 120
_MOST = 256 * 1024 * 1024
"""Bytes that a packed record may unpack to: a file from elsewhere must not fill the memory."""


def packed(carried: Carried) -> str:
    """What a comment of HTML or Markdown holds: JSON, deflated, as base64 in lines."""
    text = base64.b64encode(zlib.compress(carried.model_dump_json().encode(), 9)).decode()
    return "\n".join(text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH))


def form_of(text: str) -> Form:
    """Which form a file has, by its beginning."""
    begin = text.lstrip()[:20].lower()
    if begin.startswith("{"):
        return "json"
    return "html" if begin.startswith("<!doctype html") else "markdown"


def carried_by(text: str) -> Carried:
    """What a file carries. Raises BadConfiguration when that is no record, or none that this version reads."""
    if form_of(text) == "json":
        return _read(text)
    found = _PACKED.findall(text)
    if len(found) != 1:
        raise BadConfiguration(
            "This file cannot be verified.",
            f"Expected one record packed into a comment at its end; found {len(found)}.",
            "Export the incident again: waterline record export wl-1.",
        )
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(found[0]), _MOST)
    except (ValueError, zlib.error) as damage:
        raise _damaged(str(damage)) from damage
    if not unpacker.eof:
        raise _damaged("the packed record is cut or too large")
    return _read(content.decode(errors="replace"))


def _read(text: str) -> Carried:
    try:
        return Carried.model_validate_json(text)
    except ValidationError as error:
        raise _damaged(first_problem(error, "the file")) from error


def _damaged(found: str) -> BadConfiguration:
    return BadConfiguration(
        "This file is not an incident record, or it is damaged.",
        f"Expected the format waterline-incident-record, version 1; found: {found}.",
        "Use the original file, or export the incident again.",
    )


@dataclass(frozen=True)
class ReportedEntry:
    entry: Entry
    sentence: str


@dataclass(frozen=True)
class Proof:
    """What a file proves by itself. That it is the record of this Waterline, only its seal in Slack tells."""

    seal: Seal
    fault: str | None = None
    """The first thing that does not fit."""
    not_compared: str | None = None
    """Why what it shows was not held against its entries."""
    entries: tuple[StoredEntry, ...] = ()


class Records:
    """Writes records with the templates of one folder, and proves what was written.

    `lines` are the incident's entries as they are stored: with them a file carries its own proof.
    """

    def __init__(self, folder: Path, tables: Mapping[TableName, TableSetup] | None = None) -> None:
        """`folder` holds `incident.md.j2` and `incident.html.j2`. What the contracts of `tables` hide is in no file; an
        entry that is acted on by such a path is left out of the chain's text."""
        self._tables = tables or {}
        self._page, self._body, self._file = (environment(folder, kind) for kind in ("page", "body", "file"))
        self.written_by = f"{version('waterline')}/{_digest(folder)}"

    def markdown(
        self, incident: Incident, *, names: Mapping[str, str] | None = None, lines: Sequence[Line] = ()
    ) -> str:
        """The record as Markdown. `names`: Slack user id -> name to show instead."""
        text = self._render(self._file, "incident.md.j2", incident, names or {}, lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"

    def html(
        self,
        incident: Incident,
        *,
        names: Mapping[str, str] | None = None,
        lines: Sequence[Line] = (),
        later: Incident | None = None,
    ) -> str:
        """The record as one self-contained HTML file: everything from outside is escaped, no script runs. A page that
        carries no proof of itself names the `later` incident that put the table in doubt.

        A front page, and below it the sections of the Markdown."""
        body = self._render(self._body, "incident.md.j2", incident, names or {}, lines, packs=False)
        return self._render(
            self._page, "incident.html.j2", incident, names or {}, lines, later=later, sections=sections_of(body)
        )

    def json(self, incident: Incident, *, names: Mapping[str, str] | None = None, lines: Sequence[Line]) -> str:
        """The entries as they are stored, for programs: what the other forms carry as their proof."""
        return self._carried(names or {}, lines, self._contract(incident)).model_dump_json(indent=2) + "\n"

    def prove(self, text: str) -> Proof:
        """Whether a file's chain is whole, and whether it shows what its entries say. Raises BadConfiguration."""
        carried = carried_by(text)
        seal = Seal(
            incident_id=IncidentId(carried.chain.entries[0].incident_id),
            seq=carried.chain.end_seq,
            hash=carried.chain.end_hash,
        )
        fault = fault_in(carried.chain)
        if fault is not None:
            return Proof(seal=seal, fault=fault.sentence)
        if carried.written_by != self.written_by:
            unknown = (
                f"it was written by Waterline {carried.written_by}, and this is {self.written_by}; check it with "
                "that version, or export it again with `waterline record export`"
            )
            return Proof(seal=seal, not_compared=unknown, entries=carried.chain.entries)
        if left_out := sorted(withheld_in(carried.chain)):
            unread = (
                f"{len(left_out)} of them {'is' if len(left_out) == 1 else 'are'} not in the file, because they "
                "contain "
                f"values of hidden columns (first: entry {left_out[0]}); `waterline record verify` checks them in "
                "the database"
            )
            return Proof(seal=seal, not_compared=unread, entries=carried.chain.entries)
        again = self._again(form_of(text), carried)
        first = next(
            (n for n, pair in enumerate(zip_longest(_rows(text), _rows(again)), 1) if len(set(pair)) > 1), None
        )
        shown = None if first is None else f"Line {first} of the file is not what its entries say: it was changed."
        return Proof(seal=seal, fault=shown, entries=carried.chain.entries)

    def _again(self, form: Form, carried: Carried) -> str:
        lines = lines_of(carried.chain)
        write = {"html": self.html, "markdown": self.markdown, "json": self.json}[form]
        return write(fold(entries_of(carried.chain)), names=carried.names, lines=lines)

    def _carried(self, names: Mapping[str, str], lines: Sequence[Line], contract: TableContract) -> Carried:
        return Carried(
            format=FORMAT, version=1, written_by=self.written_by, names=dict(sorted(names.items())),
            chain=chain_of(lines, withheld_from(lines, contract)),
        )  # fmt: skip

    def _contract(self, incident: Incident) -> TableContract:
        setup = self._tables.get(incident.opened.table)
        return TableContract() if setup is None else setup.contract

    def _render(
        self,
        templates: Environment,
        name: str,
        incident: Incident,
        names: Mapping[str, str],
        lines: Sequence[Line],
        *,
        later: Incident | None = None,
        sections: Sequence[Section] = (),
        packs: bool = True,
    ) -> str:
        people, contract = _People(names, incident.opened.channel), self._contract(incident)
        carried = self._carried(names, lines, contract) if lines else None
        text = templates.get_template(name).render(
            incident=incident,
            later=later,
            sections=sections,
            told=[ReportedEntry(entry=entry, sentence=sentence(entry)) for entry in incident.entries],
            ledger=ledger_view(incident),
            person=people.person,
            plain=people.plain,
            markdown_of=people.markdown_of,
            seal=seal_of(incident.entries[-1]),
            answered=[run for run in incident.runs.values() if run.evidence is not None],
            unanswered=[run for run in incident.runs.values() if run.evidence is None],
            metrics=metrics(incident),
            charges={item.number: item for item in review_items(incident)},
            carried=carried is not None,
            folds=name == "incident.md.j2" and packs,
            packed=packed(carried) if carried and packs else "",
            left_out=len(withheld_in(carried.chain)) if carried else 0,
        )
        return contract.veiled(text)


class _People:
    """Shows people by name, as far as names are known."""

    def __init__(self, names: Mapping[str, str], channel: str = "") -> None:
        self._names = {channel: "the incident's channel", **names}

    def person(self, user: str | None) -> str:
        return self._names.get(user, user) if user else "nobody"

    def plain(self, text: str) -> str:
        return MENTION.sub(lambda found: self.person(found.group(2)), text)

    def markdown_of(self, notice: str) -> Markup:
        """A notice's mrkdwn as Markdown, what others wrote escaped; nothing leads out of the file."""
        named = MENTION.sub(lambda found: escape(inert(self.person(found.group(2))), quote=False), notice)
        return Markup(as_markdown(named))  # noqa: S704 - see above


def _rows(text: str) -> list[str]:
    """Line by line; what a mail program does to line ends changes no record."""
    return text.replace("\r\n", "\n").rstrip("\n").split("\n")


def _digest(folder: Path) -> str:
    """Of the templates: other templates write another file."""
    content = b"".join(file.read_bytes() for file in sorted(folder.iterdir()) if file.is_file())
    return hashlib.sha256(content).hexdigest()[:8]
