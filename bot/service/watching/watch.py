"""Follows each table and its job while no incident has it in doubt, and has told what it sees twice in a row."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

import structlog

from bot.incident.doubt import is_in_doubt
from bot.observation.errors import WaterlineError
from bot.observation.findings import RecoveryDeadline
from bot.observation.ids import IncidentId, TableName
from bot.observation.looked import NotSeen
from bot.ports import Clock, Timers
from bot.service.incident_store import IncidentStore
from bot.service.watching.check import TableCheck, TableMonitor, TableStatus, WatchTerms
from bot.service.watching.finding_store import FindingStore
from bot.service.watching.findings import CONDITIONS
from bot.service.watching.unnamed import blind

log = structlog.get_logger(__name__)


@dataclass
class _Followed:
    seen: TableStatus = field(default_factory=TableStatus)
    candidates: frozenset[tuple[str, str]] = frozenset()
    """What the look before saw that was not told: code and subject."""
    last: dict[str, datetime] = field(default_factory=dict)
    """Finding -> when it was last seen."""
    looked_at: datetime | None = None
    unseen: frozenset[str] = frozenset()
    """What the newest look that judged could not see."""
    incident: IncidentId | None = None
    """The one that is open on it."""
    failing_since: datetime | None = None
    """The first of the looks that ended in an error, with none since that did not."""
    looks_away: bool = False
    """Whether people look at it themselves."""


class Watch:
    """Looks at one table after another, in threads of its own. A thing is told once."""

    def __init__(
        self,
        monitor: TableMonitor,
        finding_store: FindingStore,
        store: IncidentStore,
        clock: Clock,
        is_leader: Callable[[], bool],
        terms: WatchTerms,
        tables: tuple[TableName, ...],
    ) -> None:
        self._monitor = monitor
        self._finding_store = finding_store
        self._store = store
        self._clock = clock
        self._is_leader = is_leader
        self.terms = terms
        self._followed = {table: _Followed() for table in tables}
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="watch")
        self._lock = threading.Lock()
        self._under_way: set[TableName] = set()
        self._look_again: Callable[[TableName], None] = lambda _table: None

    def start(self, timers: Timers) -> None:
        """Look from now on. A look that hangs holds up no timer of others. Alerts about a table that is not followed
        are posted as soon, when a mute has ended."""

        def again(table: TableName) -> None:
            timers.at(f"watch-again/{table}", self._clock.now() + self.terms.again, partial(self.look_soon, table))

        self._look_again = again
        every = self.terms.poll_interval.total_seconds()
        for table in self._finding_store.tables:
            if not self.follows(table):
                timers.every(f"settle/{table}", every, partial(self._soon, table, self._finding_store.post_due))
        for table in self._followed:
            timers.every(f"watch/{table}", every, partial(self.look_soon, table))
            self.look_soon(table)

    def close(self) -> None:
        """End after the looks that are under way."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def follows(self, table: TableName) -> bool:
        """Whether it is looked at; not with `watch: false`."""
        return table in self._followed

    def looked_at(self, table: TableName) -> datetime | None:
        """When this process last looked; None: not yet, or the table is not followed."""
        followed = self._followed.get(table)
        return followed.looked_at if followed is not None else None

    def unseen(self, table: TableName) -> frozenset[str]:
        """The sources that its newest look could not see."""
        followed = self._followed.get(table)
        return followed.unseen if followed is not None else frozenset()

    def deadline(self, table: TableName) -> RecoveryDeadline | None:
        """Until when it could be recovered, as of the newest closer look; None: nobody looked, or nothing could go."""
        followed = self._followed.get(table)
        return followed.seen.deadline if followed is not None else None

    def look_soon(self, table: TableName) -> None:
        """In a thread of the watch; nothing if a look at this table is under way, or it is not followed."""
        if self.follows(table):
            self._soon(table, self.look)

    def _soon(self, table: TableName, do: Callable[[TableName], None]) -> None:
        with self._lock:
            if table in self._under_way:
                return
            self._under_way.add(table)
        try:
            self._pool.submit(self._guarded, table, do)
        except RuntimeError:  # it has been closed
            return

    def look(self, table: TableName) -> None:
        """Once, now. Cost: one catalog call and what Flink tells; metadata where the pointer moved; evidence without
        rows where something looks suspicious, or has not been collected for long."""
        if not self._is_leader():
            return
        followed = self._followed[table]
        try:
            self._see(table, followed)
        except Exception as error:
            self._tell_of_failure(table, followed, error)
            raise
        finally:
            self._finding_store.post_due(table)

    def _see(self, table: TableName, followed: _Followed) -> None:
        incident = self._store.open_on(table)
        looks_away = incident is not None and is_in_doubt(incident)
        self._tell_of_incident(followed, incident.id if incident is not None else None, looks_away)
        if not looks_away and (look := self._monitor.look(table, followed.seen)) is not None:
            followed.unseen = look.unseen
            self._judge(table, followed, look)
        followed.looked_at, followed.failing_since = self._clock.now(), None

    def _tell_of_failure(self, table: TableName, followed: _Followed, error: Exception) -> None:
        """Once no look has come to its end for as long as any source may be silent."""
        now = self._clock.now()
        followed.failing_since = followed.failing_since or now
        if now - followed.failing_since < self.terms.grace_period:
            return
        reason = f"Each look ended in an error: {type(error).__name__}. The log of the bot has all of it."
        failing = NotSeen(source=table, reason=reason, remedy="Read the log, and look at the table by hand.")
        self._finding_store.see(table, blind(failing, followed.failing_since))

    def _guarded(self, table: TableName, do: Callable[[TableName], None]) -> None:
        try:
            do(table)
        except WaterlineError as error:
            log.warning("table not looked at", table=table, problem=str(error))
        except Exception:
            log.exception("watch failed", table=table)  # the next look may succeed; a dead watch would be silence
        finally:
            with self._lock:
                self._under_way.discard(table)

    def _judge(self, table: TableName, followed: _Followed, look: TableCheck) -> None:
        memory, now = self._finding_store.memory(table), self._clock.now()
        found = {(finding.code, finding.subject): finding for finding in look.findings}
        state = followed.seen.state
        new = {
            at: finding
            for at, finding in found.items()
            if not self._finding_store.goes_on(table, finding, memory, state)
        }
        for identity, finding in new.items():
            if identity in followed.candidates:
                self._finding_store.see(table, finding, is_again=memory.known(finding) is not None)
            else:
                self._look_again(table)
        followed.candidates = frozenset(new)
        for reported in memory.lasting:
            identity = (reported.finding.code, reported.finding.subject)
            is_condition = reported.finding.code in CONDITIONS and reported.finding.is_of_watch
            if not is_condition or not look.would_show(reported.finding.code):
                continue
            if identity in found or reported.finding.code in look.beside:
                followed.last[reported.id] = now
                continue
            if now - followed.last.setdefault(reported.id, now) >= self.terms.grace_period:
                self._finding_store.end(reported, "Waterline does not see it any more.")

    def _tell_of_incident(self, followed: _Followed, now_open: IncidentId | None, looks_away: bool) -> None:
        """People look themselves while one has the table in doubt; what was told of the table shows that, and the watch
        begins anew then."""
        if (now_open, looks_away) == (followed.incident, followed.looks_away):
            return
        changed = now_open or followed.incident
        if looks_away or followed.looks_away:
            followed.seen, followed.candidates = TableStatus(), frozenset()
        followed.incident, followed.looks_away = now_open, looks_away
        if changed is not None:
            self._finding_store.incident_changed(self._store.get(changed))
