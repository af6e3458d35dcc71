"""The one error of the lab, and waiting for the outside world."""

import time
from collections.abc import Callable
from typing import TypeVar

from bot.pinned_jars import MachineError


class LabError(MachineError):
    """Raised when the lab cannot go on; the reader repairs the machine or reports a defect."""


Seen = TypeVar("Seen")


def until(what: str, probe: Callable[[], Seen | None], timeout_s: float, look_at: str) -> Seen:
    """The first answer of `probe` that is neither None nor False.

    `what` completes "Waited for …"; `look_at` names the log or page to read. Raises: LabError after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        seen = probe()
        if seen is not None and seen is not False:
            return seen
        if time.monotonic() > deadline:
            raise LabError(
                f"The lab waited for {what} in vain.",
                f"Expected it within {timeout_s:.0f} s; found nothing.",
                f"Look at {look_at}.",
            )
        time.sleep(0.1)
