"""Waiting for the outside world: probe, pause, and a clear error when it takes too long."""

import time
from collections.abc import Callable
from typing import TypeVar

from bot.lab.errors import LabError

Seen = TypeVar("Seen")


def until(what: str, probe: Callable[[], Seen | None], timeout_s: float, look_at: str) -> Seen:
    """The first answer of `probe` that is not None.

    `what` completes "Waited for …"; `look_at` names the log or page to read. Raises: LabError after `timeout_s`.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        seen = probe()
        if seen is not None:
            return seen
        if time.monotonic() > deadline:
            raise LabError(
                f"Waited for {what}, and it did not come.",
                f"Expected it within {timeout_s:.0f} s; found nothing.",
                f"Look at {look_at}.",
            )
        time.sleep(0.1)
