"""Acknowledgements come first: what can wait does, while Slack's deliveries arrive in a burst."""

import time
from collections import deque
from collections.abc import Callable

_BURST = 4
_WITHIN_S = 0.25
_QUIET_S = 0.01
_QUIET_IN_A_BURST_S = 0.05
_LONGEST_S = 0.5


class Arrivals:
    """When the last deliveries were stored. Shared by everything that works while nobody's acknowledgement waits.

    Work that began between the deliveries of a burst would hold Python's one running thread, and Slack would wait.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._now = now
        self._sleep = sleep
        self._last = deque([-_WITHIN_S] * _BURST, maxlen=_BURST)

    def arrived(self) -> None:
        """A delivery was stored."""
        self._last.append(self._now())

    def give_way(self) -> None:
        """Return when none has arrived for a moment, or after half a second all the same.

        The moment is a hundredth of a second, which nobody notices; five of them after four deliveries at once.
        """
        until = self._now() + _LONGEST_S
        while (rest := min(self._quiet_from(), until) - self._now()) > 0:
            self._sleep(rest)

    def _quiet_from(self) -> float:
        first, last = self._last[0], self._last[-1]
        return last + (_QUIET_IN_A_BURST_S if last - first < _WITHIN_S else _QUIET_S)
