"""Who works on this record now. No clock and no heartbeat: whoever holds the lock that its death releases, lives.

On SQLite that is a lock on a file, given back by the kernel: one bot at a time. On PostgreSQL it is an advisory lock
of a session, given back by the server: any number of replicas, each under a number of its own.
"""

import os
import secrets
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Protocol

import structlog
from sqlalchemy import Column, ColumnElement, Connection, Engine, TextClause, or_, select, text, true, union, update
from sqlalchemy.exc import SQLAlchemyError

from bot.adapters.journal_sql.engine import reading, writing
from bot.adapters.journal_sql.schema import INBOX, OUTBOX
from bot.domain.errors import BadConfiguration, CouldNotKeep


def takers(engine: Engine) -> frozenset[str]:
    named = union(
        select(INBOX.c.worker).where(INBOX.c.state == "taken"),
        select(OUTBOX.c.worker).where(OUTBOX.c.state == "sending"),
    )
    with reading(engine) as connection:
        return frozenset(str(worker) for worker in connection.scalars(named))


def give_back(engine: Engine, workers: Collection[str] | None) -> None:
    """Free what these workers have taken, or what was taken by these very claims; None: whoever has.

    A delivery is then worked on anew, unless it has written into the journal. A post may have arrived: who sends it
    next sees by its tries that it was on its way, and looks for it first.
    """
    with writing(engine) as connection:
        connection.execute(
            update(INBOX)
            .where(INBOX.c.state == "taken", _is_of(INBOX.c.worker, workers))
            .values(state="waiting", taken_at=None, worker=None)
        )
        connection.execute(
            update(OUTBOX)
            .where(OUTBOX.c.state == "sending", _is_of(OUTBOX.c.worker, workers))
            .values(state="queued", due_at=None, worker=None, problem="interrupted")
        )


def _is_of(column: Column[str], workers: Collection[str] | None) -> ColumnElement[bool]:
    if workers is None:
        return true()
    return or_(column.in_(workers), *(column.startswith(f"{worker}/", autoescape=True) for worker in workers))


class InHand:
    """The claims of one process, `<worker>/<token>`. Safe to ask from any thread."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._lock = threading.Lock()
        self._claims: set[str] = set()
        self.raised = 0
        """How many claims have raised so far."""

    @contextmanager
    def reaching(self) -> Iterator[str]:
        """A new claim, for the row that is taken in the block. Where the block raises it is none; but the row may say
        so: the answer to COMMIT may have been lost."""
        claim = f"{self._worker}/{secrets.token_hex(8)}"
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

    def forgotten(self, taken: Iterable[str]) -> frozenset[str]:
        """Those of what was read to be taken that are this process's and not in its hands: nobody works on them."""
        with self._lock:
            return frozenset(each for each in taken if worker_of(each) == self._worker) - self._claims


def worker_of(claim: str) -> str:
    return claim.partition("/")[0]


log = structlog.get_logger(__name__)
LOOK_EVERY_S = 0.5
DEAD_AFTER_LOOKS = 3
"""A replica whose session was cut is back at its own next look, and must not be robbed before that."""
_TRIES, _BETWEEN_S = 5, 0.05
"""The server lets go of a session's locks one after the other."""
_WORKERS = 7_230_115
"""First half of every worker's advisory lock; the second is the worker's number."""
_LIVING = text(
    "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = :workers AND objsubid = 2 "
    "AND granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
_SERVER_LOOKS = ("tcp_keepalives_idle = 4", "tcp_keepalives_interval = 1", "tcp_keepalives_count = 3")
"""So the server notices in seconds that a machine lost its power; a killed process it notices at once."""


class OneOfMany:
    """See `Presence`. Its session must be its own: no pooler that hands sessions on between transactions."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._number = secrets.randbelow(2**31)
        self.name = str(self._number)
        self.hands = InHand(self.name)
        self._talking = threading.RLock()
        self._session: Connection | None = None
        self._leaving = threading.Event()
        self._watching: threading.Thread | None = None
        self._missed: Counter[str] = Counter()
        """Worker -> how many looks in a row have found something of it taken, and itself not living."""
        self._blocks: dict[object, str] = {}
        """Of each block that is alone with a work, the work: each has locked it once."""

    def join(self) -> None:
        with self._talking:
            if self._session is not None:
                return
            self._session = self._hold()
            if self._watching is None:
                self._watching = threading.Thread(target=self._watch, name="presence", daemon=True)
                self._watching.start()
                self._look()  # later ones are the thread's: two in a row would count a missing replica twice

    def join_alone(self) -> bool:
        with reading(self._engine) as connection:
            if set(connection.scalars(_LIVING, {"workers": _WORKERS})) - {self._number}:
                return False
        self.join()
        return True

    def leave(self) -> None:
        self._leaving.set()
        if self._watching is not None:
            self._watching.join()
        with self._talking:
            if self._session is not None:
                give_back(self._engine, {self.name})
                self._forget()

    @contextmanager
    def alone_with(self, work: str) -> Iterator[bool]:
        """See `Presence`. The lock is the session's: it goes with the process. Where the session is cut, the next one
        locks it again; another replica that was faster is in its block, too, which is logged. What both of them write
        is told apart by the journal: an entry goes after the last one only, and a step begins once."""
        self.join()
        block = object()
        with self._talking:
            session = self._session
            is_mine = session is not None and self._locks(session, work)
            if is_mine:
                self._blocks[block] = work
        try:
            yield is_mine
        finally:
            self._unlocks(block)

    def _locks(self, session: Connection, work: str) -> bool:
        """Raises CouldNotKeep where the session was cut: nothing more is asked of it then."""
        try:
            return bool(session.scalar(_lock("try_advisory_lock", work)))
        except SQLAlchemyError as cut:
            self._forget()
            raise CouldNotKeep(
                "It is not known whether another replica works on this: the session with the record's database was "
                "cut.",
                f"Expected it to stay open; the database said: {str(cut).splitlines()[0]}",
                "Waterline checks again as soon as the database answers.",
            ) from cut

    def _unlocks(self, block: object) -> None:
        """A session that was cut has let go of its locks."""
        with self._talking:
            work = self._blocks.pop(block, None)
            if work is not None and self._session is not None:
                try:
                    self._session.execute(_lock("advisory_unlock", work))
                except SQLAlchemyError:
                    self._forget()

    def _hold(self) -> Connection:
        """A new session, with every lock that the one before had."""
        session = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        try:
            for each in _SERVER_LOOKS:
                session.exec_driver_sql(f"SET {each}")
            mine = {"workers": _WORKERS, "number": self._number}
            session.execute(text("SELECT pg_advisory_lock(:workers, :number)"), mine)
            self._lock_again(session)
        except BaseException:
            session.invalidate()  # back in the pool it would keep its locks
            session.close()
            raise
        return session

    def _lock_again(self, session: Connection) -> None:
        for block, work in list(self._blocks.items()):
            for _ in range(_TRIES):
                if session.scalar(_lock("try_advisory_lock", work)):
                    break
                time.sleep(_BETWEEN_S)
            else:
                del self._blocks[block]
                log.warning("another replica has begun what this one is at: its session was cut", work=work)

    def _watch(self) -> None:
        while not self._leaving.wait(LOOK_EVERY_S):
            try:
                self.join()
                self._look()
            except (SQLAlchemyError, CouldNotKeep) as away:
                log.warning("the record's database is away", problem=str(away))
            except Exception:
                log.exception("presence cannot be kept")  # a dead thread would be robbed by every other replica

    def _look(self) -> None:
        """Who had taken something is read first: whoever lives by then is in the second list."""
        try:
            taken = takers(self._engine)
        except CouldNotKeep:
            self._living()  # a session that is well stays, with its locks, where only the pool has no connection
            raise
        if forgotten := self.hands.forgotten(taken):
            log.warning("giving back what was taken here by a claim whose answer was lost", rows=len(forgotten))
            give_back(self._engine, forgotten)
        taking = {worker_of(claim) for claim in taken} - {self.name}
        living = self._living()
        self._missed = Counter({worker: self._missed[worker] + 1 for worker in taking - living})
        if dead := {worker for worker, looks in self._missed.items() if looks >= DEAD_AFTER_LOOKS}:
            log.info("taking over from replicas that are gone", workers=sorted(dead))
            give_back(self._engine, dead)

    def _living(self) -> set[str]:
        """Every worker that holds its session. Whatever is wrong with the own one ends that one."""
        with self._talking:
            assert self._session is not None
            try:
                return {str(number) for number in self._session.scalars(_LIVING, {"workers": _WORKERS})}
            except Exception:
                self._forget()
                raise

    def _forget(self) -> None:
        """Ends the session, and its locks with it; `join` takes a new one under the same number."""
        with self._talking:
            session, self._session = self._session, None
            if session is not None:
                with suppress(SQLAlchemyError):
                    session.invalidate()
                with suppress(SQLAlchemyError):
                    session.close()


def _lock(function: str, work: str) -> TextClause:
    """A lock of one number never meets one of two numbers, so this is no worker's."""
    return text(f"SELECT pg_{function}(hashtextextended(:work, 0))").bindparams(work=work)


class Presence(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def hands(self) -> InHand:
        """What this process has claimed and not let go of."""

    def join(self) -> None:
        """Live, and give back what the dead had taken. Safe to repeat. Raises BadConfiguration if another one
        works on this record and the database is not for sharing."""

    def join_alone(self) -> bool:
        """As `join`, where nobody else works on this record; else False, and nothing is taken. On PostgreSQL two may
        be answered True at the same moment: `alone_with` keeps them apart, as all replicas."""

    def leave(self) -> None:
        """Live no longer: what is still taken is for others."""

    def alone_with(self, work: str) -> AbstractContextManager[bool]:
        """A block that one replica at a time is in, per `work`; False where another one is."""


class OneProcess:
    """On SQLite: the only bot on its file."""

    name = "waterline"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.hands = InHand(self.name)
        self._joining = threading.Lock()
        self._held: int | None = None
        self._looked_after = 0
        """How many claims had raised when what they left was given back."""

    def join(self) -> None:
        with self._joining:
            if self._held is None:
                self._held = self._hold()
                give_back(self._engine, None)
            elif (raised := self.hands.raised) != self._looked_after:
                give_back(self._engine, self.hands.forgotten(takers(self._engine)))
                self._looked_after = raised

    def join_alone(self) -> bool:
        try:
            self.join()
        except BadConfiguration:
            return False
        return True

    def leave(self) -> None:
        with self._joining:
            if self._held is not None:
                give_back(self._engine, None)
                os.close(self._held)
                self._held = None

    @contextmanager
    def alone_with(self, work: str) -> Iterator[bool]:  # noqa: ARG002 - there is no other replica
        yield True

    def _hold(self) -> int:
        path = Path(f"{self._engine.url.database}.lock")
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            flock(file, LOCK_EX | LOCK_NB)
        except OSError as taken:
            who = os.pread(file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(file)
            raise BadConfiguration(
                f"Another Waterline works on the record {self._engine.url.database}.",
                f"Expected to be the only one on a SQLite file; found that process {who} holds {path.name}.",
                "Stop the other one, or give all replicas one PostgreSQL database (`journal_url`).",
            ) from taken
        os.ftruncate(file, 0)
        os.pwrite(file, str(os.getpid()).encode(), 0)
        return file


def presence_on(engine: Engine) -> Presence:
    return OneProcess(engine) if engine.dialect.name == "sqlite" else OneOfMany(engine)
