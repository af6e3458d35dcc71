"""A power cut at a chosen entry of the record, or at a chosen deed in the world."""

import os
import signal
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from bot.incident.entries import Body
from bot.incident.journal import Entry
from bot.observation.ids import IncidentId
from bot.ports import Journal


class PowerCut:
    """A journal that kills its process right after the N-th append, or right before it when N is negative."""

    def __init__(self, journal: Journal, at: int) -> None:
        self._journal = journal
        self._at = at
        self._appended = 0

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        self._appended += 1
        if -self._at == self._appended:
            os.kill(os.getpid(), signal.SIGKILL)
        written = self._journal.append(incident, after_seq, bodies, by=by, at=at)
        if self._at == self._appended:
            os.kill(os.getpid(), signal.SIGKILL)
        return written

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


class CutAtDeed:
    """Kills its process right after the N-th deed in the world, or right before it when N is negative; 0: never."""

    def __init__(self, at: int = 0) -> None:
        self._at = at
        self.deeds = 0
        """How many there were so far."""

    def cuts_at(self, at: int) -> None:
        """From now on."""
        self._at = at

    def around(self, port: Any, *methods: str) -> None:
        """Calls of these count as deeds from now on."""
        for name in methods:
            setattr(port, name, self._counted(getattr(port, name)))

    def _counted(self, do: Callable[..., Any]) -> Callable[..., Any]:
        def deed(*args: Any, **named: Any) -> Any:
            self.deeds += 1
            number = self.deeds
            if self._at == -number:
                os.kill(os.getpid(), signal.SIGKILL)
            result = do(*args, **named)
            if self._at == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return deed


def killed(work: Callable[[], None]) -> bool:
    """Whether this work, in a process of its own, was ended by SIGKILL."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
