"""Open modals and App Home pages: a stack of modals per person, one Home per person, a hash per revision."""

import asyncio
import secrets
from collections.abc import Iterable
from contextlib import suppress

from pydantic import BaseModel, ConfigDict

from bot.workspace.clock import WorkspaceClock
from bot.workspace.people import Cast, Payload

_PAGE_BACKLOG = 2_000


class Live:
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


class OpenView(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    person: str
    given: Payload
    hash: str

    def on_the_wire(self, cast: Cast, values: Payload | None = None) -> Payload:
        plain = {"close": None, "submit": None, "private_metadata": "", "callback_id": "", "external_id": ""}
        title = {"type": "plain_text", "text": "View Title", "emoji": True}
        return {
            **plain,
            "title": title,
            **self.given,
            "id": self.id,
            "team_id": cast.team_id,
            "app_id": cast.app.app_id,
            "app_installed_team_id": cast.team_id,
            "bot_id": cast.app.bot_id,
            "hash": self.hash,
            "state": {"values": values or {}},
        }


class Views:
    def __init__(self, clock: WorkspaceClock, live: Live, cast: Cast) -> None:
        self._clock = clock
        self._live = live
        self._cast = cast
        self._stacks: dict[str, list[OpenView]] = {}
        self._homes: dict[str, OpenView] = {}

    def stack(self, person: str) -> tuple[OpenView, ...]:
        """The modals a person has open, the visible one last."""
        return tuple(self._stacks.get(person, ()))

    def home(self, person: str) -> OpenView | None:
        return self._homes.get(person)

    def find(self, view_id: str | None, external_id: str | None = None) -> OpenView | None:
        everything = [view for stack in self._stacks.values() for view in stack] + list(self._homes.values())
        for view in everything:
            if view.id == view_id or (external_id and view.given.get("external_id") == external_id):
                return view
        return None

    def open(self, person: str, given: Payload) -> OpenView:
        self._stacks[person] = [self._new(person, given)]
        return self._told(person)

    def push(self, person: str, given: Payload) -> OpenView:
        """Show a modal on top of the open one."""
        self._stacks.setdefault(person, []).append(self._new(person, given))
        return self._told(person)

    def update(self, view: OpenView, given: Payload) -> OpenView:
        """Replace an open view."""
        newer = view.model_copy(update={"given": given, "hash": self._hash()})
        if self._homes.get(view.person) is view:
            self._homes[view.person] = newer
            self._tell_home(view.person)
            return newer
        stack = self._stacks[view.person]
        stack[stack.index(view)] = newer
        self._told(view.person)
        return newer

    def publish(self, person: str, given: Payload) -> OpenView:
        if existing := self._homes.get(person):
            return self.update(existing, given)
        self._homes[person] = self._new(person, given)
        self._tell_home(person)
        return self._homes[person]

    def close(self, person: str, view: OpenView) -> None:
        self._stacks[person] = [v for v in self._stacks[person] if v.id != view.id]
        self.tell_stack(person)

    def tell_stack(self, person: str) -> None:
        shown = [view.on_the_wire(self._cast) for view in self.stack(person)]
        self._live.tell("modals", {"views": shown}, (person,))

    def _told(self, person: str) -> OpenView:
        self.tell_stack(person)
        return self._stacks[person][-1]

    def _tell_home(self, person: str) -> None:
        self._live.tell("home", {"view": self._homes[person].on_the_wire(self._cast)}, (person,))

    def _new(self, person: str, given: Payload) -> OpenView:
        return OpenView(id="V0" + secrets.token_hex(5).upper(), person=person, given=given, hash=self._hash())

    def _hash(self) -> str:
        return f"{int(self._clock.seconds())}.{secrets.token_hex(4)}"
