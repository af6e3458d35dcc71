"""Who works on this record now. No clock and no heartbeat: whoever holds the lock that its death releases, lives.

On SQLite that is a lock on a file, given back by the kernel: one bot at a time. On PostgreSQL it is an advisory lock
of a session, given back by the server: any number of replicas, each under a number of its own.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Protocol

from sqlalchemy import Engine

from bot.adapters.journal_sql.in_hand import InHand
from bot.adapters.journal_sql.orphans import give_back, takers
from bot.adapters.journal_sql.replica import OneOfMany
from bot.domain.errors import BadConfiguration


class Presence(Protocol):
    """One process among those that work on a record."""

    @property
    def name(self) -> str:
        """Begins every claim of this process."""

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
        """See `Presence`."""
        with self._joining:
            if self._held is None:
                self._held = self._hold()
                give_back(self._engine, None)
            elif (raised := self.hands.raised) != self._looked_after:
                give_back(self._engine, self.hands.forgotten(takers(self._engine)))
                self._looked_after = raised

    def join_alone(self) -> bool:
        """See `Presence`."""
        try:
            self.join()
        except BadConfiguration:
            return False
        return True

    def leave(self) -> None:
        """See `Presence`."""
        with self._joining:
            if self._held is not None:
                give_back(self._engine, None)
                os.close(self._held)
                self._held = None

    @contextmanager
    def alone_with(self, work: str) -> Iterator[bool]:  # noqa: ARG002 - there is no other replica
        """See `Presence`."""
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
    """What fits the database. Nobody has joined yet."""
    return OneProcess(engine) if engine.dialect.name == "sqlite" else OneOfMany(engine)
