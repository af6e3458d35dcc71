"""The workspace's own time: real time plus what a test has added to it.

Sources: docs.slack.dev on interactivity (acknowledge within 3 s, trigger_id 3 s and one
use), on the Events API (three retries: at once, after one minute, after five minutes) and on modals.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta

from pydantic import BaseModel, ConfigDict, Field


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


class Rules(BaseModel):
    """What Slack allows a Slack app, in seconds and counts."""

    model_config = ConfigDict(frozen=True)

    ack_s: float = Field(default=3.0, description="seconds an app has to acknowledge a delivery")
    trigger_s: float = Field(default=3.0, description="seconds a trigger_id lives")
    retry_after_s: tuple[float, ...] = Field(
        default=(0.0, 60.0, 300.0), description="waits before each repeated delivery of an event"
    )
    edit_window_s: float | None = Field(default=None, description="age up to which a message can be edited")
