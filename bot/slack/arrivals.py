"""Acknowledgements come first: what can wait does, while Slack's deliveries arrive in a burst."""

import time

_QUIET_S = 0.01
_LONGEST_S = 0.5


class Arrivals:
    """When the last delivery was stored. Shared by everything that works for people without their waiting for it.

    Work that began between the deliveries of a burst would hold Python's one running thread, and Slack would wait.
    """

    def __init__(self) -> None:
        self._last = 0.0

    def arrived(self) -> None:
        """A delivery was stored."""
        self._last = time.monotonic()

    def give_way(self) -> None:
        """Return when none has arrived for a hundredth of a second, or after half a second all the same."""
        until = time.monotonic() + _LONGEST_S
        while (rest := min(self._last + _QUIET_S, until) - time.monotonic()) > 0:
            time.sleep(rest)
