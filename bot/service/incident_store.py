"""Incidents as the use cases see them: read by folding, changed only by appending."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from bot.incident.entries import Body
from bot.incident.hidden_values import veiled_body
from bot.incident.incident import Incident, fold, unknown
from bot.incident.journal import WATERLINE, Line
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


@dataclass(eq=False)
class IncidentStore:
    """Reads and appends; tells its listeners after each append."""

    _journal: Journal
    _clock: Clock
    tables: Mapping[TableName, TableSetup] = field(default_factory=dict)
    """Values of columns that their contracts hide are kept out of all that the record says to people."""
    _listeners: list[Callable[[IncidentId], None]] = field(default_factory=list)
    _known: dict[IncidentId, Incident] = field(default_factory=dict)
    """As read last; entries never change, so only newer ones are read again."""
    _unreadable: set[IncidentId] = field(default_factory=set)
    """What was told of in the log."""

    def on_change(self, listener: Callable[[IncidentId], None]) -> None:
        """Call `listener` after every append, in the appending thread; it must be quick and not raise."""
        self._listeners.append(listener)

    def open(self, body: Body, *, by: str) -> Incident:
        entry = self._journal.open(body, by=by, at=self._clock.now())
        self._tell(entry.incident_id)
        return fold([entry])

    def get(self, incident_id: IncidentId) -> Incident:
        """The incident now, with what other processes have written. Raises UnknownIncident. Cost: one small query."""
        known = self._known.get(incident_id)
        newer = self._journal.entries(incident_id, known.seq if known is not None else 0)
        if newer:
            self._known[incident_id] = known = fold((*(known.entries if known is not None else ()), *newer))
        if known is None:
            raise unknown(incident_id)
        return known

    def lines(self, incident_id: IncidentId) -> tuple[Line, ...]:
        """Its entries as they are stored: what an export carries. Raises UnknownIncident."""
        lines = self._journal.lines(incident_id)
        if not lines:
            raise unknown(incident_id)
        return lines

    def all(self) -> tuple[Incident, ...]:
        """Every incident that can be read, oldest first. One that this version cannot read (a newer one writes to it,
        somebody has changed it) holds up no other. Cost: one query, and one for each that has changed."""
        return tuple(each for each in map(self._readable, *self._ends()) if each is not None)

    def every(self) -> tuple[Incident, ...]:
        """The same, for who must not pass over one. Raises CouldNotLook where one cannot be read."""
        return tuple(map(self._up_to, *self._ends()))

    def _ends(self) -> tuple[Iterable[IncidentId], Iterable[int]]:
        ends = self._journal.ends()
        return ends.keys(), ends.values()

    def _up_to(self, incident_id: IncidentId, seq: int) -> Incident:
        known = self._known.get(incident_id)
        return known if known is not None and known.seq >= seq else self.get(incident_id)

    def _readable(self, incident_id: IncidentId, seq: int) -> Incident | None:
        try:
            return self._up_to(incident_id, seq)
        except CouldNotLook as unreadable:
            if incident_id not in self._unreadable:
                log.warning("an incident cannot be read", incident=incident_id, problem=str(unreadable))
            self._unreadable.add(incident_id)
            return None

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
                if attempt == _ATTEMPTS - 1:
                    raise
                continue
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
        setup = self.tables.get(table)
        return body if setup is None else veiled_body(body, setup.contract)

    def _tell(self, incident_id: IncidentId) -> None:
        for listener in self._listeners:
            listener(incident_id)
