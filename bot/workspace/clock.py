"""The workspace's own time: real time plus what a test has added to it.

Retries after five minutes and response URLs that live half an hour are shown by moving this clock, not by waiting.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta


class WorkspaceClock:
    """Answers what time it is in the workspace, and wakes sleepers when the clock is moved."""

    def __init__(self) -> None:
        self._added_s = 0.0
        self._moved = asyncio.Event()

    def seconds(self) -> float:
        """Unix time in seconds, in workspace time."""
        return time.time() + self._added_s

    def now(self) -> datetime:
        """The same instant as an aware UTC datetime."""
        return datetime.fromtimestamp(self.seconds(), UTC)

    def advance(self, by: timedelta) -> None:
        """Move the workspace's time forward; everything due by then happens now."""
        self._added_s += by.total_seconds()
        self._moved.set()
        self._moved = asyncio.Event()

    async def sleep_until(self, due_s: float) -> None:
        """Return once workspace time has reached `due_s` (Unix seconds)."""
        while (remaining_s := due_s - self.seconds()) > 0:
            moved = self._moved
            try:
                await asyncio.wait_for(moved.wait(), timeout=remaining_s)
            except TimeoutError:
                continue
