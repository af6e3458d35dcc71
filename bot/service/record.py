"""The record of an incident as a file that needs nothing else: HTML for people, Markdown, JSON for programs.

All tell the same; words and layout of the first two are templates in `messages/record/`. Each can carry the entries as
they were stored, and be proven from them alone.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from bot.domain.contract import TableContract
from bot.domain.fold import fold
from bot.domain.ids import IncidentId, TableName
from bot.domain.incident import Incident
from bot.domain.inert import inert
from bot.domain.journal import Entry, Line
from bot.domain.named_people import MENTION
from bot.domain.record_account import Account
from bot.domain.record_file import (
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
from bot.domain.review import metrics, review_items
from bot.domain.setup import TableSetup
from bot.domain.timeline import sentence
from bot.domain.veiling import withheld_from
from bot.notices.forms import as_markdown
from bot.service.ledger_view import ledger_view
from bot.service.record_account import account
from bot.service.record_carrying import Form, RecordDocument, carried_by, form_of, packed
from bot.service.record_templates import Section, environment, sections_of
from bot.service.record_templates import moment as moment


@dataclass(frozen=True)
class Told:
    """One entry in words."""

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
        """The record for programs; `waterline record schema` describes it."""
        people = _People(names or {})
        contract = self._contract(incident)
        carried = self._carried(names or {}, lines, contract)
        shown = account(incident, people.person, people.plain).model_dump_json()
        told = Account.model_validate_json(contract.veiled(shown))
        return RecordDocument(**dict(carried), incident=told).model_dump_json(indent=2) + "\n"

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
            told=[Told(entry=entry, sentence=sentence(entry)) for entry in incident.entries],
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
