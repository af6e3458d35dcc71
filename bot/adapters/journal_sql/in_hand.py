"""What this process has claimed and not let go of. One claim is one token, which its row carries as `worker`.

A token is known here before its row is written, so that no look at the rows takes a fresh claim for a forgotten one.
"""

import secrets
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


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
    """Who made it."""
    return claim.partition("/")[0]
