"""Incidents as the use cases see them: read by folding, changed only by appending."""

from collections.abc import Callable, Collection, Mapping, Sequence

import structlog

from bot.incident.entries import Body
from bot.incident.hidden_values import veiled_body
from bot.incident.incident import Incident, fold, unknown
from bot.incident.journal import WATERLINE, Entry, Line
from bot.incident.review import open_items
from bot.incident.savepoints import still_tagged
from bot.incident.setup import TableSetup
from bot.observation.errors import CouldNotLook, JournalMoved, Refused, UnknownIncident
from bot.observation.ids import IncidentId, TableName
from bot.ports import Clock, Journal

log = structlog.get_logger(__name__)
_ATTEMPTS = 20
"""How often a decision is taken anew when others append at the same moment."""


def must_be_open(incident: Incident) -> None:
    """Raises Refused when the incident has ended."""
    if not incident.is_open:
        raise Refused(f"Incident {incident.id} is closed.", "", "Open a new one with /waterline open.")


def must_be_in_charge(incident: Incident, by: str, to_do: str) -> None:
    """Raises Refused unless `by` responds to the incident or opened it. Whoever takes it over is on record with that.

    `to_do` completes "cannot": "close it".
    """
    if by in (incident.responder, incident.opened_by):
        return
    who = incident.responder or incident.opened_by
    found = f"<@{who}> {'does' if incident.responder else 'opened it'}." if who != WATERLINE else "Nobody does yet."
    raise Refused(
        f"You do not respond to {incident.id}, so you cannot {to_do}.",
        found,
        "Ask the responder, or take over first: /waterline assign.",
    )


class IncidentStore:
    """Reads and appends; tells its listeners after each append."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._listeners: list[Callable[[IncidentId], None]] = []
        self._tables: Mapping[TableName, TableSetup] = {}
        self._read: dict[IncidentId, tuple[Entry, ...]] = {}
        """What was read of the open incidents; entries never change, so only newer ones are read again."""
        self._closed: dict[IncidentId, Incident] = {}
        """Nothing is owed to these any more, so they are folded once; anew when another process has written to one."""
        self._unreadable: set[IncidentId] = set()
        """What was told of in the log."""

    def veil_by(self, tables: Mapping[TableName, TableSetup]) -> None:
        """Keep values of columns that these tables' contracts hide out of all that the record says to people."""
        self._tables = tables

    def on_change(self, listener: Callable[[IncidentId], None]) -> None:
        """Call `listener` after every append, in the appending thread; it must be quick and not raise."""
        self._listeners.append(listener)

    def open(self, body: Body, *, by: str) -> Incident:
        entry = self._journal.open(body, by=by, at=self._clock.now())
        self._tell(entry.incident_id)
        return fold([entry])

    def get(self, incident_id: IncidentId) -> Incident:
        """The incident now. Raises UnknownIncident."""
        done = self._closed.get(incident_id)
        if done is not None:
            return done
        entries = self._entries(incident_id)
        if not entries:
            raise unknown(incident_id)
        incident = fold(entries)
        is_done = all(view.ended for view in incident.notices.values()) and not incident.is_frozen
        is_done = is_done and not still_tagged(incident)
        if not incident.is_open and is_done and not open_items(incident):
            self._closed[incident_id] = incident
            self._read.pop(incident_id, None)
        return incident

    def newest(self, incident_id: IncidentId) -> Incident:
        """As `get`; one that has ended is asked for again, as another replica may have appended to it. Raises
        UnknownIncident. Cost: one small query."""
        done = self._closed.get(incident_id)
        if done is not None and self._journal.entries(incident_id, done.seq):
            self._closed.pop(incident_id, None)
        return self.get(incident_id)

    def _entries(self, incident_id: IncidentId) -> tuple[Entry, ...]:
        known = self._read.get(incident_id, ())
        newer = self._journal.entries(incident_id, len(known))
        if newer:
            self._read[incident_id] = known = known + newer
        return known

    def lines(self, incident_id: IncidentId) -> tuple[Line, ...]:
        """Its entries as they are stored: what an export carries. Raises UnknownIncident."""
        lines = self._journal.lines(incident_id)
        if not lines:
            raise unknown(incident_id)
        return lines

    def all(self) -> tuple[Incident, ...]:
        """Every incident that can be read, oldest first, with what other processes have written, to closed ones too.
        One that this version cannot read (a newer one writes to it, somebody has changed it) holds up no other."""
        return tuple(each for each in map(self._readable, self._known()) if each is not None)

    def every(self) -> tuple[Incident, ...]:
        """The same, for who must not pass over one. Raises CouldNotLook where one cannot be read."""
        return tuple(map(self.get, self._known()))

    def _readable(self, incident_id: IncidentId) -> Incident | None:
        try:
            return self.get(incident_id)
        except CouldNotLook as unreadable:
            if incident_id not in self._unreadable:
                log.warning("an incident cannot be read", incident=incident_id, problem=str(unreadable))
            self._unreadable.add(incident_id)
            return None

    def _known(self) -> Collection[IncidentId]:
        ends = self._journal.ends()
        for incident_id, seq in ends.items():
            closed = self._closed.get(incident_id)
            if closed is not None and closed.seq < seq:
                self._closed.pop(incident_id, None)
        return ends

    def open_on(self, table: TableName) -> Incident | None:
        """The open incident on a table, if there is one."""
        return next((i for i in self.all() if i.is_open and i.opened.table == table), None)

    def in_channel(self, channel: str) -> Incident:
        """The newest open incident of a channel. Raises UnknownIncident."""
        found = [i for i in self.all() if i.is_open and i.opened.channel == channel]
        if not found:
            raise UnknownIncident(
                "No incident is open in this channel.",
                "",
                "Open one with /waterline open.",
            )
        return found[-1]

    def newest_in(self, channel: str) -> Incident:
        """The channel's open incident, else the one that was closed last there. Raises UnknownIncident."""
        found = [i for i in self.all() if i.opened.channel == channel]
        return next((i for i in reversed(found) if i.is_open), found[-1]) if found else self.in_channel(channel)

    def write(self, incident_id: IncidentId, *, by: str, decide: Callable[[Incident], Sequence[Body]]) -> Incident:
        """Append what `decide` answers for the present state, all or nothing; returns the state after it.

        `decide` may be called several times when others append at the same moment; it must only decide. What is written
        bears this process's time, but never one before the entry that it follows.
        """
        for attempt in range(_ATTEMPTS):
            incident = self.get(incident_id)
            bodies = [self._veiled(body, incident.opened.table) for body in decide(incident)]
            if not bodies:
                return incident
            try:
                at = incident.no_earlier(self._clock.now())
                self._journal.append(incident_id, incident.seq, bodies, by=by, at=at)
            except JournalMoved:
                self._closed.pop(incident_id, None)
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
            self._closed.pop(incident_id, None)
            self._tell(incident_id)
            return self.get(incident_id)
        raise AssertionError("unreachable")

    def append_if(self, incident_id: IncidentId, bodies: Sequence[Body], when: Callable[[Incident], bool]) -> bool:
        """Append on the bot's own account, where `when` holds for the present state; returns whether it did."""
        is_so = False

        def decide(now: Incident) -> Sequence[Body]:
            nonlocal is_so
            is_so = when(now)
            return bodies if is_so else []

        self.write(incident_id, by=WATERLINE, decide=decide)
        return is_so

    def _veiled(self, body: Body, table: TableName) -> Body:
        setup = self._tables.get(table)
        return body if setup is None else veiled_body(body, setup.contract)

    def _tell(self, incident_id: IncidentId) -> None:
        for listener in self._listeners:
            listener(incident_id)
