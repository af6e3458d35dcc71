"""Answers whether a table can be relied on, for pages, programs, agents, pipelines and Slack. Reads only."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from datetime import datetime, timedelta

from bot.incident.incident import Incident
from bot.incident.journal import Line
from bot.incident.setup import TableSetup
from bot.incident.trust import Trust, Turn
from bot.incident.trust_claims import history_of, judge, newest_claim
from bot.observation.errors import CouldNotLook, UnknownIncident, UnknownTable, WaterlineError
from bot.observation.findings import RecoveryDeadline
from bot.observation.ids import IncidentId, TableName
from bot.observation.looked import NotSeen
from bot.observation.table import TableState
from bot.ports import Clock
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.watching.finding_store import WatchFindings

_AT_ONCE = 8
"""Tables that are read from the catalog at the same time."""


class TrustService:
    """Looks at the catalog and the record for whoever asks.

    Many may ask at once, and a catalog may hang: a table is read once for everybody who asks within `keep`, and
    whoever has waited for `patience` is told that it is not known. `findings` None: nothing is watched. `is_marked`
    False: the configuration wants no mark on tables. `deadlines`: what the watch knows of tables without an incident.
    """

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        clock: Clock,
        *,
        findings: WatchFindings | None = None,
        is_marked: bool = True,
        deadlines: Callable[[TableName], RecoveryDeadline | None] = lambda _table: None,
        patience: timedelta = timedelta(seconds=10),
        keep: timedelta = timedelta(seconds=1),
    ) -> None:
        self._store = store
        self._observer = observer
        self._clock = clock
        self._findings = findings
        self._is_marked = is_marked
        self._deadlines = deadlines
        self._patience_s = patience.total_seconds()
        self._keep_s = keep.total_seconds()
        self._lock = threading.Lock()
        self._places = threading.Semaphore(_AT_ONCE)
        self._reads: dict[TableName, tuple[float, Future[TableState]]] = {}

    @property
    def setups(self) -> Mapping[TableName, TableSetup]:
        return self._observer.tables

    def trust(self, table: TableName) -> Trust:
        """One table now. Raises UnknownTable. Cost: one catalog call and one metadata file."""
        self._observer.setup(table)
        looked = self.table(table)
        return self._judged(table, looked, self._clock.now())

    def all(self) -> tuple[Trust, ...]:
        """Every watched table now, in the order of the configuration; those that take too long are not known."""
        reads = {table: self._read(table) for table in self._observer.tables}
        until = time.monotonic() + self._patience_s
        looked = {table: self._awaited(read, until) for table, read in reads.items()}
        at = self._clock.now()
        return tuple(self._judged(table, seen, at) for table, seen in looked.items())

    def table(self, table: TableName) -> TableState | NotSeen:
        """What the trust of a table was read from. Raises UnknownTable if it is not watched."""
        self._observer.setup(table)
        return self._awaited(self._read(table), time.monotonic() + self._patience_s)

    def reads_any(self) -> bool:
        """Whether one of the watched tables can be read now. Cost: of the first that can, and no more patience than for
        one table."""
        until = time.monotonic() + self._patience_s
        return any(not isinstance(self._awaited(self._read(table), until), NotSeen) for table in self._observer.tables)

    def history(self, table: TableName) -> tuple[Turn, ...]:
        """How the table's trust changed, newest first. Raises UnknownTable, CouldNotLook."""
        self._observer.setup(table)
        return history_of(tuple(i for i in self._store.all() if i.opened.table == table))

    def deadline(self, table: TableName) -> RecoveryDeadline | None:
        """Until when the table can be recovered, as the incident or the watch saw it last; None: not known, or not
        to be told. Raises CouldNotLook."""
        return self._deadline_of(table, [each for each in self._store.all() if each.opened.table == table])

    def _deadline_of(self, table: TableName, told: Sequence[Incident]) -> RecoveryDeadline | None:
        incident = next((each for each in reversed(told) if each.is_open), None)
        if incident is None:
            return self._deadlines(table)
        return None if incident.is_private else incident.deadline_now

    def incidents(self) -> tuple[Incident, ...]:
        """Every incident that anybody may know of, newest first. Raises CouldNotLook."""
        return tuple(i for i in reversed(self._store.all()) if not i.is_private)

    def incident(self, incident_id: IncidentId) -> Incident:
        """One incident; a private one is unknown to whoever asks here. Raises UnknownIncident, CouldNotLook."""
        with suppress(UnknownIncident):
            incident = self._store.get(incident_id)
            if not incident.is_private:
                return incident
        raise UnknownIncident(
            "There is no such incident.", "Expected an id like wl-1.", "The overview lists the visible incidents."
        )

    def later_doubt(self, incident: Incident) -> Incident | None:
        """The newest later incident that put its table in doubt; None: none did. Raises CouldNotLook."""
        claim = newest_claim(tuple(i for i in self._store.all() if i.opened.table == incident.opened.table))
        is_later = claim is not None and claim.incident.opened_at > incident.opened_at
        return claim.incident if claim is not None and is_later else None

    def lines(self, incident: Incident) -> tuple[Line, ...]:
        """Its entries as they are stored, as many as were folded into it. Raises CouldNotLook."""
        return self._store.lines(incident.id)[: incident.seq]

    def _judged(self, table: TableName, looked: TableState | NotSeen, at: datetime) -> Trust:
        try:
            told = tuple(i for i in self._store.all() if i.opened.table == table)
            found = self._findings.of(table, told) if self._findings is not None else ()
        except CouldNotLook as error:
            return judge(table, looked, _not_seen("the record", error), at=at)
        trust = judge(table, looked, told, found, at=at, is_marked=self._is_marked)
        deadline = self._deadline_of(table, told)
        if deadline is None:
            return trust
        return trust.model_copy(
            update={"recoverable_until": deadline.recoverable_until, "recoverable_because": deadline.because}
        )

    def _read(self, table: TableName) -> Future[TableState]:
        """The read that is under way or fresh, else a new one in a thread that nobody has to wait for."""
        with self._lock:
            known = self._reads.get(table)
            if known is not None:
                began, read = known
                if not read.done() or time.monotonic() - began < self._keep_s:
                    return read
            fresh: Future[TableState] = Future()
            self._reads[table] = (time.monotonic(), fresh)
        threading.Thread(target=self._fill, args=(fresh, table), name=f"trust-{table}", daemon=True).start()
        return fresh

    def _fill(self, read: Future[TableState], table: TableName) -> None:
        with self._places:
            try:
                read.set_result(self._observer.table(table))
            except BaseException as error:  # noqa: BLE001 - handed to whoever waits, where it is raised
                read.set_exception(error)

    def _awaited(self, read: Future[TableState], until: float) -> TableState | NotSeen:
        try:
            return read.result(timeout=max(until - time.monotonic(), 0))
        except TookTooLong:
            return NotSeen(
                source="the catalog",
                reason=f"It did not answer within {self._patience_s:g} seconds.",
                remedy="Check the connection to the catalog and to the table's storage.",
            )
        except (CouldNotLook, UnknownTable) as error:
            return _not_seen("the catalog", error)


def _not_seen(source: str, error: WaterlineError) -> NotSeen:
    return NotSeen(source=source, reason=f"{error.happened} {error.found}".strip(), remedy=error.remedy)
