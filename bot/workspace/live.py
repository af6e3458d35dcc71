"""Tells open pages what has changed: one queue per page, one number per change."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from bot.workspace.payload import Payload

_PAGE_BACKLOG = 2_000


class Live:
    """Fans changes out to the pages of the people who may see them."""

    def __init__(self) -> None:
        self.version = 0
        self._pages: dict[asyncio.Queue[Payload], str] = {}
        self._changed = asyncio.Event()

    def open_page(self, person: str) -> asyncio.Queue[Payload]:
        """A queue that receives what `person` may see from now on."""
        queue: asyncio.Queue[Payload] = asyncio.Queue(maxsize=_PAGE_BACKLOG)
        self._pages[queue] = person
        return queue

    def close_page(self, queue: asyncio.Queue[Payload]) -> None:
        """Forget a page."""
        self._pages.pop(queue, None)

    def tell(self, kind: str, change: Payload, audience: Iterable[str] | None = None) -> None:
        """Send a change to the pages of `audience`, or to all; a page that reads nothing loses the change."""
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()
        allowed = None if audience is None else frozenset(audience)
        for queue, person in self._pages.items():
            if allowed is None or person in allowed:
                with suppress(asyncio.QueueFull):
                    queue.put_nowait({"kind": kind, "version": self.version, **change})

    async def wait_past(self, version: int, timeout_s: float) -> int:
        """The number of the newest change, as soon as it is past `version` or the time is over."""
        changed = self._changed
        if self.version <= version:
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), timeout_s)
        return self.version
