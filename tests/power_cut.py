"""A power cut at a chosen entry of the record."""

import os
import signal
from collections.abc import Sequence
from datetime import datetime

from bot.domain.entries import Body
from bot.domain.ids import IncidentId
from bot.domain.journal import Entry
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
