"""What people and other bots write in channels about watched tables: a finding, once, and an answer for who asked."""

import re
from collections.abc import Collection
from datetime import timedelta

from bot.domain.clock_time import clock_time
from bot.domain.ids import TableName, UserId, short
from bot.domain.incident import Incident
from bot.domain.record import Record, Utc
from bot.domain.watch import Sighted
from bot.ports import Clock
from bot.service.alerts import MESSAGE, Alert, AlertDesk
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings

_MOST_TABLES = 3
"""A message that names more is a list, and no word about a table."""
_SAME_WORDS = timedelta(days=1)
_TALK = timedelta(hours=1)
"""So long after a finding, what people write of its table is taken for talk about it."""
_LINES, _LINE = 4, 300
_STATUS = re.compile(r"^\W*(?:(?P<over>resolved|recovered|ok|closed)|firing|alerting|triggered)\b[\s:\d\])}*_-]*", re.I)
"""How monitoring systems begin a message: `[FIRING:2] …`, `[RESOLVED] …`, `Alerting: …`."""


class Said(Record):
    """One message that somebody else wrote."""

    room: str
    """The channel."""
    ts: str
    """The message in its channel."""
    root: str
    """The message that began its thread; itself, if none did."""
    at: Utc
    by: str
    """Who wrote it, as they are called."""
    user: UserId | None
    """None for a bot."""
    is_asked: bool
    """Whether it mentions us: then it is answered."""
    text: str
    """Without Slack's markup, the first line first."""
    link: str | None = None
    is_quoted: bool = True
    """False where it was written among fewer people than read the table's channel: its words are not repeated then."""


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

    def channels_for(self, text: str) -> tuple[str, ...]:
        """Where a message with these words is told."""
        return tuple(self._sightings.channel(table) for table in self._desk.tables_in(text))

    def take(self, said: Said) -> str | None:
        """A finding for each table that it names; a sentence for who asked, None for who did not."""
        named = self._desk.tables_in(said.text)
        if not 0 < len(named) <= _MOST_TABLES:
            return _not_understood(named, self._sightings.tables) if said.is_asked else None
        answers = [self._take(said, table) for table in named]
        return "\n".join(answers) if said.is_asked else None

    def _take(self, said: Said, table: TableName) -> str:
        incident = self._store.open_on(table)
        if incident is not None:
            return _is_open(table, incident)
        alert = self._alert(said)
        if alert.is_resolved and not said.is_asked:
            self._end(table, alert)
            return f"It is noted that {table} is said to have recovered."
        where = f"<#{self._sightings.channel(table)}>"
        known = self._known(table, alert)
        if known is not None:
            return f"That was told already, at {clock_time(known.at, self._clock.now())} in {where}."
        if said.user is not None and not said.is_asked and self._is_talked_of(table):
            return f"{table} is talked of already."
        self._desk.tell(table, alert)
        kept = self._known(table, alert)
        if kept is None or not self._sightings.is_told(kept.id):
            return (
                f"It is kept, and told in {where} when {table} is muted no more and quiet hours are over. "
                f"`/waterline open {table}` opens an incident at once."
            )
        return (
            f"Told in {where}, with a button that opens an incident on {table}. What the watch sees of it comes beside "
            "your words there as soon as it has looked."
        )

    def _alert(self, said: Said) -> Alert:
        lines = [line.strip() for line in said.text.splitlines() if line.strip()] or [""]
        status = _STATUS.match(lines[0])
        plain = lines[0][status.end() :] if status is not None else lines[0]
        title = f"{said.by} wrote: “{_clipped(lines[0])}”" if said.is_quoted else f"{said.by} asks to look at it."
        return Alert(
            source=said.by,
            fingerprint=f"{said.room}/{said.root}",
            started_at=said.at,
            is_resolved=said.user is None and status is not None and status["over"] is not None,
            name=re.sub(r"\d+", "#", plain) if said.is_quoted else said.by,
            title=title,
            details=tuple(f"“{_clipped(line)}”" for line in lines[1 : _LINES + 1]) if said.is_quoted else (),
            names=(said.text,),
            room=said.room,
            severity="sev2",
            runbook=None,
            link=said.link if said.is_quoted else None,
        )

    def _known(self, table: TableName, alert: Alert) -> Sighted | None:
        """What was told of this thread before, or of the same words within a day, no incident having ended since."""
        now = self._clock.now()
        for sighted in reversed(self._sightings.memory(table).sighted.values()):
            sign = sighted.sign
            if sign.code != MESSAGE:
                continue
            if sign.subject == alert.fingerprint:
                return sighted
            sight = self._sightings.sight(sighted.id)
            is_past = sight is None or sight.ended is not None or sight.incident is not None
            if sign.name == alert.known_as and now - sighted.at < _SAME_WORDS and not is_past:
                return sighted
        return None

    def _is_talked_of(self, table: TableName) -> bool:
        return any(self._clock.now() - s.at < _TALK for s in self._sightings.memory(table).sighted.values())

    def _end(self, table: TableName, alert: Alert) -> None:
        for sighted in self._sightings.memory(table).lasting:
            if (sighted.sign.code, sighted.sign.name) == (MESSAGE, alert.known_as):
                self._sightings.end(sighted, f"{alert.source} wrote that it is.")


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
