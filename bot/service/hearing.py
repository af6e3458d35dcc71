"""What people and other bots write in channels about watched tables: a finding, once, and an answer for who asked."""

import hashlib
import re
from collections.abc import Collection
from datetime import timedelta
from typing import Protocol

from bot.domain.clock_time import clock_time
from bot.domain.ids import TableName, short
from bot.domain.incident import Incident
from bot.domain.record import Record, Utc
from bot.domain.watch import MESSAGE, Sighted
from bot.ports import Clock
from bot.service.alerts import MOST_TABLES, Alert, AlertDesk
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings

_TALK = timedelta(hours=1)
"""So long after a finding, what people write of its table is taken for talk about it."""
_LINES, _LINE = 4, 300
_OVER, _ON = "resolved|recovered|ok|closed", "firing|alerting|triggered"
_STATUS = re.compile(
    rf"^\W*(?:[\[(]\s*(?:(?P<over>{_OVER})|{_ON})\s*(?::\s*\d+)?\s*[\])]|(?:(?P<over_too>{_OVER})|{_ON})[*_]*:)[\s\W\d_]*",
    re.I,
)
"""How monitoring systems begin a message: `[FIRING:2] …`, `[RESOLVED] …`, `Alerting: …`; no sentence with the word."""


class Said(Record):
    """One message that somebody else wrote."""

    room: str
    """The channel."""
    ts: str
    """The message in its channel."""
    root: str
    """The message that began its thread; itself, if none did."""
    at: Utc
    bot: str
    """What the bot that wrote it is called; empty for a person."""
    is_asked: bool
    """Whether it mentions us: then it is answered."""
    text: str
    """Without Slack's markup, the first line first."""


class Source(Protocol):
    """What somebody else has to be asked about a message: only of those that are told."""

    @property
    def by(self) -> str:
        """Who wrote it, as they are called."""

    @property
    def is_public(self) -> bool:
        """Whether everybody may read what is written there; False if that is not known."""

    @property
    def link(self) -> str | None:
        """To the message; None if there is none."""


class Hearing:
    """Takes messages as alerts. Taking one twice is taking it once."""

    def __init__(
        self,
        desk: AlertDesk,
        sightings: Sightings,
        store: IncidentStore,
        clock: Clock,
        rooms: Collection[str],
    ) -> None:
        self._desk = desk
        self._sightings = sightings
        self._store = store
        self._clock = clock
        self.rooms = frozenset(rooms)
        """Channels in which we listen without being mentioned."""

    def concerns(self, room: str, text: str) -> bool:
        """Whether a message that does not mention us is for us: any other is not even kept."""
        return room in self.rooms and bool(self._desk.tables_in(text))

    def take(self, said: Said, source: Source) -> str | None:
        """A finding for each table that it names; a sentence for who asked, None for who did not."""
        named = self._desk.tables_in(said.text)
        if not 0 < len(named) <= MOST_TABLES:
            return _not_understood(named, self._sightings.tables) if said.is_asked else None
        answers = [self._take(said, source, table) for table in named]
        return "\n".join(answers) if said.is_asked else None

    def _take(self, said: Said, source: Source, table: TableName) -> str:
        incident = self._store.open_on(table)
        if incident is not None:
            return _is_open(table, incident)
        words = _Words(said)
        if words.is_over and not said.is_asked:
            self._end(table, said, words)
            return f"It is noted that {table} is said to have recovered."
        if not said.is_asked and self._is_said_to_be_over(table, said, words):
            return f"{table} is said to have recovered since."
        where = f"<#{self._sightings.channel(table)}>"
        known = self._known(table, said, words)
        if known is not None and self._sightings.is_told(known.id):
            return f"That was told already, at {clock_time(known.at, self._clock.now())} in {where}."
        if known is None and not said.bot and not said.is_asked and self._is_talked_of(table):
            return f"{table} is talked of already."
        if known is None:
            self._desk.tell(table, self._alert(said, words, source, table))
            known = self._known(table, said, words)
        if known is None or not self._sightings.is_told(known.id):
            return (
                f"It is kept, and told in {where} when {table} is muted no more and quiet hours are over. "
                f"`/waterline open {table}` opens an incident at once."
            )
        told = f"Told in {where}, with a button that opens an incident on {table}."
        if not self._desk.is_watched(table):
            return f"{told} The table itself is not watched: nothing comes beside your words."
        return f"{told} What the watch sees of it comes beside your words there as soon as it has looked."

    def _alert(self, said: Said, words: "_Words", source: Source, table: TableName) -> Alert:
        """Words that fewer people may read than the table's channel has are not repeated there."""
        is_quoted = said.room in self.rooms or said.room == self._sightings.channel(table) or source.is_public
        title = f"{source.by} wrote: “{_clipped(words.lines[0])}”" if is_quoted else f"{source.by} asks to look at it."
        return Alert(
            source=source.by,
            fingerprint=f"{said.room}/{said.root}",
            started_at=said.at,
            is_resolved=False,
            name=words.name,
            title=title,
            details=tuple(f"“{_clipped(line)}”" for line in words.lines[1 : _LINES + 1]) if is_quoted else (),
            names=(said.text,),
            room=said.room,
            severity="sev2",
            runbook=None,
            link=source.link if is_quoted else None,
        )

    def _known(self, table: TableName, said: Said, words: "_Words") -> Sighted | None:
        """What was taken of this thread, or of the same words, and is not past."""
        for sighted in reversed(self._sightings.memory(table).lasting):
            sign = sighted.sign
            is_same = sign.subject == f"{said.room}/{said.root}" or sign.name == words.name
            if sign.code == MESSAGE and is_same and not self._sightings.is_past(sighted):
                return sighted
        return None

    def _is_talked_of(self, table: TableName) -> bool:
        return any(self._clock.now() - s.at < _TALK for s in self._sightings.memory(table).sighted.values())

    def _end(self, table: TableName, said: Said, words: "_Words") -> None:
        for sighted in self._sightings.memory(table).lasting:
            began = sighted.sign.started_at
            is_before = began is None or began <= said.at
            if is_before and (sighted.sign.code, sighted.sign.name) == (MESSAGE, words.name):
                self._sightings.end(sighted, f"{said.bot} wrote that it is.", written_at=said.at)

    def _is_said_to_be_over(self, table: TableName, said: Said, words: "_Words") -> bool:
        """By a message that was written later and taken earlier: several are taken at a time."""
        memory = self._sightings.memory(table)
        return any(
            memory.sighted[ended.sighting].sign.name == words.name and said.at < ended.written_at
            for ended in memory.ended.values()
            if ended.written_at is not None
        )


class _Words:
    """The lines of a message, and what its first one says behind the mark of a monitoring system."""

    def __init__(self, said: Said) -> None:
        self.lines = [line.strip() for line in said.text.splitlines() if line.strip()] or [""]
        status = _STATUS.match(self.lines[0])
        self.is_over = bool(said.bot) and status is not None and (status["over"] or status["over_too"]) is not None
        plain = self.lines[0][status.end() :] if status is not None else self.lines[0]
        self.name = hashlib.sha256(re.sub(r"\d+", "#", plain).encode()).hexdigest()[:12]
        """The same for the same words, numbers aside; tells nobody what was written in a private channel."""


def _clipped(line: str) -> str:
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"


def _is_open(table: TableName, incident: Incident) -> str:
    if incident.is_private:
        return f"{table} is under review already; its incident is private."
    return (
        f"{incident.id} is open on {table} in <#{incident.opened.channel}>: say it there. Trusted meanwhile: snapshot "
        f"{short(incident.trusted)}."
    )


def _not_understood(named: Collection[TableName], tables: Collection[TableName]) -> str:
    found = f"found {len(named)}: {', '.join(named)}" if named else "found none"
    return (
        f"I do not know which table you mean. Expected the name of a watched table, or of its job; {found}. Mention me "
        f"again with one of {', '.join(tables)}; `/waterline open TABLE` opens an incident at once, and "
        "`/waterline help` says what else I do."
    )
