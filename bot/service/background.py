"""Work that must not hold up the inbox: run in threads, one at a time per incident and kind of work."""

import secrets
import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from bot.domain.entries import NoteAdded
from bot.domain.ids import IncidentId
from bot.domain.journal import WATERLINE
from bot.service.incident_store import IncidentStore

log = structlog.get_logger(__name__)


class Background:
    """A pool whose outermost frame turns a defect into a reference id in the journal and the log."""

    def __init__(self, store: IncidentStore, *, workers: int) -> None:
        self._store = store
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="work")
        self._locks: dict[str, threading.Lock] = defaultdict(threading.Lock)

    def submit(self, incident: IncidentId, what: str, do: Callable[[], None]) -> None:
        """Do it soon; the same `what` of the same incident never runs twice at once."""
        self._pool.submit(self._run, incident, what, do)

    def close(self) -> None:
        """Finish what runs; what waits is found again at the next start."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, incident: IncidentId, what: str, do: Callable[[], None]) -> None:
        with self._locks[f"{incident}/{what}"]:
            try:
                do()
            except Exception as error:
                reference = secrets.token_hex(4)
                log.exception("work failed", incident=incident, what=what, reference=reference)
                text = f"{what.capitalize()} failed: {error} (reference {reference}). The incident goes on."
                self._store.write(incident, by=WATERLINE, decide=lambda _i: [NoteAdded(text=text)])
