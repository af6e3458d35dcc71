"""Work that must not hold up the inbox: run in threads, one at a time per incident and kind of work."""

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog

from bot.incident.entries import NoteAdded
from bot.observation.errors import CouldNotKeep, WaterlineError
from bot.observation.ids import IncidentId
from bot.service.incident_store import IncidentStore
from bot.service.spans import in_this_span

log = structlog.get_logger(__name__)
_Work = tuple[IncidentId, str]


class Background:
    """A pool whose outermost frame tells the incident, once, what could not be done.

    What another replica is doing is left to it: duties are looked at again and again, and what is done is not owed.
    """

    def __init__(self, store: IncidentStore, is_leader: Callable[[], bool], *, workers: int) -> None:
        self._store = store
        self._is_leader = is_leader
        self._pool = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="work")
        self._lock = threading.Lock()
        self._under_way: set[_Work] = set()
        self._once_more: dict[_Work, Callable[[], None]] = {}
        self._is_closing = False
        self._noted: set[tuple[IncidentId, str]] = set()
        """What this process has put on record, in its own words: the record keeps no secret and no hidden value."""

    def submit(self, incident: IncidentId, what: str, do: Callable[[], None]) -> None:
        """Do it soon. While the same `what` of the same incident is under way, it is done once more afterwards."""
        work = (incident, what)
        with self._lock:
            if self._is_closing:
                return  # what is owed is found again at the next start
            if work in self._under_way:
                self._once_more[work] = do
                return
            self._under_way.add(work)
            self._pool.submit(in_this_span(self._run), work, do)

    def close(self) -> None:
        """Finish what runs; what waits is found again at the next start."""
        with self._lock:
            self._is_closing = True
            self._once_more.clear()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _run(self, work: _Work, do: Callable[[], None]) -> None:
        following: Callable[[], None] | None = do
        while following is not None:
            try:
                self._guarded(*work, following)
            except CouldNotKeep as away:
                log.warning("work could not be noted", incident=work[0], what=work[1], problem=str(away))
            except Exception:
                log.exception("work could not be noted", incident=work[0], what=work[1])  # else it would never be again
            with self._lock:
                following = self._once_more.pop(work, None)
                if following is None:
                    self._under_way.discard(work)

    def _guarded(self, incident: IncidentId, what: str, do: Callable[[], None]) -> None:
        try:
            if self._is_leader():
                do()
        except CouldNotKeep:
            raise  # there is nowhere to note it; it is owed, and looked at again
        except WaterlineError as error:
            self._note(incident, f"{what} failed: {error} Waterline tries again.")
        except Exception as error:
            reference = hashlib.sha256(f"{what}{error!r}".encode()).hexdigest()[:8]
            log.exception("work failed", incident=incident, what=what, reference=reference)
            self._note(incident, f"{what} failed (reference {reference} in the log). The incident goes on.")

    def _note(self, incident_id: IncidentId, text: str) -> None:
        """Said once, at most once more after a restart: what is tried again every few seconds would otherwise fill the
        timeline."""
        note = NoteAdded(text=text)
        if (incident_id, text) not in self._noted:
            self._store.append_if(incident_id, [note], lambda now: all(each.body != note for each in now.entries))
            self._noted.add((incident_id, text))
