"""Which process works on this record: the one that holds a lock which its death releases. No clock and no heartbeat.

On SQLite that is a lock on a file, given back by the kernel. On PostgreSQL it is an advisory lock of a session, given
back by the server: other replicas stand by, and one of them takes over.
"""

import os
import secrets
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import structlog
from sqlalchemy import Column, ColumnElement, Connection, Engine, select, text, true, union, update
from sqlalchemy.exc import SQLAlchemyError

from bot.adapters.journal_sql.engine import off_by, reading, translated, write
from bot.adapters.journal_sql.schema import INBOX, OUTBOX
from bot.observation.errors import BadConfiguration, CouldNotKeep
from bot.ports import Clock

log = structlog.get_logger(__name__)


def claims_in(engine: Engine) -> frozenset[str]:
    """Of every row that somebody works on."""
    named = union(
        select(INBOX.c.worker).where(INBOX.c.state == "taken"),
        select(OUTBOX.c.worker).where(OUTBOX.c.state == "sending"),
    )
    with reading(engine) as connection:
        return frozenset(str(claim) for claim in connection.scalars(named))


def give_back(engine: Engine, claims: Collection[str] | None) -> None:
    """Free what was taken by these claims; None: by any.

    A delivery is then worked on anew, unless it has written into the journal. A post may have arrived: who sends it
    next sees by its tries that it was on its way, and looks for it first.
    """
    taken = update(INBOX).where(INBOX.c.state == "taken", _is_of(INBOX.c.worker, claims))
    sending = update(OUTBOX).where(OUTBOX.c.state == "sending", _is_of(OUTBOX.c.worker, claims))
    write(
        engine,
        taken.values(state="waiting", taken_at=None, worker=None),
        sending.values(state="queued", due_at=None, worker=None, problem="interrupted"),
    )


def _is_of(column: Column[str], claims: Collection[str] | None) -> ColumnElement[bool]:
    return true() if claims is None else column.in_(claims)


class InHand:
    """The claims of this process. Safe to ask from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._claims: set[str] = set()
        self.raised = 0
        """How many claims have raised so far."""

    @contextmanager
    def reaching(self) -> Iterator[str]:
        """A new claim, for the row that is taken in the block. Where the block raises it is none; but the row may say
        so: the answer to COMMIT may have been lost."""
        claim = secrets.token_hex(16)
        with self._lock:
            self._claims.add(claim)
        try:
            yield claim
        except BaseException:
            self.lets_go(claim)
            self.raised += 1
            raise

    def lets_go(self, claim: str) -> None:
        """Its row says so already, or there is none."""
        with self._lock:
            self._claims.discard(claim)

    def forgotten(self, claims: frozenset[str]) -> frozenset[str]:
        """Those that are not in this process's hands."""
        with self._lock:
            return claims - self._claims


class _FileLock:
    """On SQLite: the only process on its file."""

    is_shared = False

    def __init__(self, engine: Engine) -> None:
        self._path = Path(f"{engine.url.database}.lock")
        self._held: int | None = None

    @property
    def is_held(self) -> bool:
        return self._held is not None

    def take(self) -> None:
        """Raises BadConfiguration where another process has it."""
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except OSError as taken:
            who = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise BadConfiguration(
                f"Another Waterline works on the record {self._path.with_suffix('')}.",
                f"Expected to be the only one on a SQLite file; found that process {who} holds {self._path.name}.",
                "Stop the other one, or give all replicas one PostgreSQL database (`journal_url`).",
            ) from taken
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        self._held = file

    def release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None


_LEADER = 7_230_115
"""Any number, the same in every replica: the key of the advisory lock."""
_SERVER_LOOKS = ("tcp_keepalives_idle = 4", "tcp_keepalives_interval = 1", "tcp_keepalives_count = 3")
"""So the server notices in seconds that a machine lost its power; a killed process it notices at once."""


class _SessionLock:
    """On PostgreSQL. Its session must be its own: no pooler that hands sessions on between transactions."""

    is_shared = True

    def __init__(self, engine: Engine, machine: Clock) -> None:
        self._engine, self._machine = engine, machine
        self._session: Connection | None = None

    @property
    def is_held(self) -> bool:
        """Asks the session: one that was cut has let go of its lock. It is given back where this clock is off."""
        if self._session is None:
            return False
        try:
            found = off_by(self._session, self._machine)
        except SQLAlchemyError as cut:
            log.warning("the session with the record's database was cut", problem=str(cut).splitlines()[0])
            self.release()
            return False
        if found is not None:
            log.warning("this machine's clock is off; it works on the record no longer", found=found)
            self.release()
        return found is None

    def take(self) -> None:
        """Raises CouldNotKeep where another replica has it, the database is away, or this machine's clock is off."""
        with translated(self._engine, "written"):
            session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            self._session = session
            try:
                for each in _SERVER_LOOKS:
                    session.exec_driver_sql(f"SET {each}")
                found = off_by(session, self._machine)
                is_mine = session.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _LEADER})
            except BaseException:
                self.release()
                raise
        if found is not None:
            self.release()
            raise CouldNotKeep(
                "This machine's clock is off, so it does not work on the record.",
                f"Expected the time of the record's database; this clock is {found}.",
                "Keep both clocks right with NTP. This replica stands by until they agree.",
            )
        if not is_mine:
            self.release()
            raise CouldNotKeep(
                "Another replica of Waterline works on the record.",
                "Expected to be the only one; another session holds the lock in the database.",
                "This replica stands by, and takes over when the other one ends.",
            )

    def release(self) -> None:
        """Ends the session: back in the pool it would keep its lock."""
        session, self._session = self._session, None
        if session is not None:
            with suppress(SQLAlchemyError):
                session.invalidate()
            with suppress(SQLAlchemyError):
                session.close()


class Presence:
    """Of one process, on one record. Safe from any thread."""

    def __init__(self, engine: Engine, machine: Clock) -> None:
        self._engine = engine
        self._lock = _FileLock(engine) if engine.dialect.name == "sqlite" else _SessionLock(engine, machine)
        self._joining = threading.RLock()
        self._looked_after = 0
        """How many claims had raised when what they left was given back."""
        self.hands = InHand()
        """What this process has claimed and not let go of."""

    def join(self) -> None:
        """Be the one that works on the record, and give back what is in nobody's hands. Safe to repeat. Where another
        process works on it: raises BadConfiguration on SQLite, CouldNotKeep on PostgreSQL."""
        with self._joining:
            raised = self.hands.raised
            if self._lock.is_held and raised == self._looked_after:
                return
            if not self._lock.is_held:
                self._lock.take()
            if forgotten := self.hands.forgotten(claims_in(self._engine)):
                log.info("giving back what nobody works on", rows=len(forgotten))
                give_back(self._engine, forgotten)
            self._looked_after = raised

    def join_alone(self) -> bool:
        """As `join`; False where another process works on the record, or the database is away."""
        try:
            self.join()
        except (BadConfiguration, CouldNotKeep):
            return False
        return True

    def take_over(self, is_stopping: Callable[[float], bool], stands_by: Callable[[], None] = lambda: None) -> bool:
        """As `join`, but on PostgreSQL stand by until the other replica ends; `stands_by` is called once then. False
        where `is_stopping`, which waits so many seconds, says True before that."""
        is_first = True
        while not self.join_alone():
            if not self._lock.is_shared:
                self.join()
            if is_first:
                stands_by()
            is_first = False
            if is_stopping(1.0):
                return False
        return True

    def leave(self) -> None:
        """Work on it no longer: what is still taken is for others."""
        with self._joining:
            if self._lock.is_held:
                give_back(self._engine, None)
                self._lock.release()

    def is_leader(self) -> bool:
        """Whether this process works on the record now; False where another replica does. Where that one takes over
        right after this answer, the journal tells both apart: an entry goes after the last one only, and a step begins
        once."""
        return not self._lock.is_shared or self.join_alone()
