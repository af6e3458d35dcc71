"""Waiting for what another process does."""

import time
from collections.abc import Callable


def eventually(holds: Callable[[], bool], limit_s: float) -> None:
    """Wait until something holds. Raises TimeoutError."""
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"What was awaited did not come within {limit_s:.0f} s.")
        time.sleep(0.02)
