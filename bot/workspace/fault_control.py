"""What Slack, the network and people do wrong on demand, as `ws.faults.ratelimits("chat.update", times=2)`."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any, TypeVar

from bot.workspace.clock import Rules
from bot.workspace.faults import ApiFault
from bot.workspace.people import CannotDo
from bot.workspace.world import StoredMessage, World

T = TypeVar("T")


class FaultControl:
    """Each method returns when the workspace, on its own event loop, has done what it says."""

    def __init__(self, world: World) -> None:
        self._world = world

    def ratelimits(self, method: str | None = None, *, times: int = 1, retry_after_s: int = 1) -> None:
        """Answer the next calls (of one method, or any) with 429 and Retry-After."""
        self._arm(ApiFault(kind="ratelimited", method=method, times=times, seconds=retry_after_s))

    def fails(self, method: str | None, error: str, *, times: int = 1) -> None:
        """Refuse the next calls with a Slack error; nothing happens."""
        self._arm(ApiFault(kind="error", method=method, error=error, times=times))

    def fails_after_effect(self, method: str | None, error: str = "internal_error", *, times: int = 1) -> None:
        """Do what the next calls ask, and answer with a Slack error."""
        self._arm(ApiFault(kind="error-after-effect", method=method, error=error, times=times))

    def holds(self, method: str | None, seconds: float, *, times: int = 1) -> None:
        """Do what is asked at once and answer only after some seconds, or when it `disarms`."""
        self._arm(ApiFault(kind="hold", method=method, seconds=seconds, times=times))

    def doubles_clicks(self, times: int = 1) -> None:
        """The next click arrives as two clicks."""
        self._on_loop(lambda: self._world.faults.armed.update({"double-click": times}))

    def doubles_deliveries(self, times: int = 1) -> None:
        """Deliver the next delivery twice, the same payload in two envelopes."""
        self._on_loop(lambda: self._world.faults.armed.update({"double-delivery": times}))

    def holds_deliveries(self, times: int = 1) -> None:
        """Keep the next deliveries back, so that later ones overtake them, until they are let through.

        Who caused them goes on at once, as if they were acknowledged.
        """
        self._on_loop(lambda: self._world.faults.armed.update({"hold-delivery": times}))

    def lets_through(self) -> int:
        """Deliver what was held, in its order; answers how many."""
        return self._awaited(self._world.deliveries.let_through())

    def redelivers(self) -> str:
        """Deliver the newest delivery again; answers how the app acknowledged it."""
        ack = self._awaited(self._world.deliveries.redeliver_last())
        return ack.outcome if ack is not None else "nothing was delivered yet"

    def drops_sockets(self) -> int:
        """Reset all Socket Mode connections, no close frame; answers how many.

        slack_sdk's built-in client notices after five failed pings: five times its `ping_interval`.
        """
        return self._on_loop(self._world.sockets.drop)

    def disconnects(self, reason: str = "refresh_requested") -> int:
        """Tell all connections that they end (`warning`, `refresh_requested`); answers how many were told."""
        return self._awaited(self._world.sockets.announce_disconnect(reason))

    def archives(self, channel: str) -> None:
        self._change(channel, is_archived=True)

    def limits(self, channel: str, limit: str) -> None:
        """Let the app post no more (`read_only`), only replies (`thread_only`), no replies (`non_threadable`), or
        all again (empty)."""
        self._change(channel, limit=limit)

    def shares(self, channel: str, member: str) -> None:
        """Share the channel with another organisation, of which this member is from now on."""
        directory = self._world.directory
        self._on_loop(lambda: directory.change_person(directory.person(member).id, team_id="T0PARTNER1"))
        self._change(channel, is_ext_shared=True)

    def deactivates(self, member: str) -> None:
        """As when somebody leaves: they are in no user group any more, and can do nothing."""
        directory = self._world.directory
        self._on_loop(lambda: directory.change_person(directory.person(member).id, is_deactivated=True))

    def removes(self, channel: str, member: str = "bot") -> None:
        self._change(channel, members=self._world.directory.channel(channel).members - {self._member(member)})

    def adds(self, channel: str, member: str = "bot") -> None:
        self._change(channel, members=self._world.directory.channel(channel).members | {self._member(member)})

    def revokes_token(self) -> None:
        """Answer `token_revoked` to the bot token until `disarms`."""
        self._world.faults.revoked.add(self._world.bot_token)

    def deletes(self, channel: str, ts: str) -> None:
        self._on_loop(lambda: self._world.conversations.remove(self._message(channel, ts)))

    def edits(self, channel: str, ts: str, text: str) -> None:
        """Edit a message behind the bot's back; its blocks are gone."""
        conversations = self._world.conversations
        changes = {"text": text, "blocks": (), "edited_ts": conversations.next_ts()}
        self._on_loop(lambda: conversations.change(self._message(channel, ts), **changes))

    def time_passes(self, by: timedelta) -> None:
        """Move the workspace's clock: retries become due, triggers get old."""
        self._on_loop(lambda: self._world.clock.advance(by))

    def disarms(self) -> None:
        """Everything works again."""
        self._on_loop(self._world.faults.disarm)

    def sets_rules(self, **rules: float | int | None) -> None:
        """Change time limits and quotas; see `Rules` for the names."""
        made = Rules.model_validate({**self._world.rules.model_dump(), **rules})
        self._on_loop(lambda: self._world.set_rules(made))

    def _arm(self, fault: ApiFault) -> None:
        self._on_loop(lambda: self._world.faults.arm(fault))

    def _change(self, channel: str, **changes: object) -> None:
        directory, live = self._world.directory, self._world.live
        self._on_loop(lambda: directory.change(directory.channel(channel).id, **changes))
        self._on_loop(lambda: live.tell("channels", {}))

    def _member(self, name: str) -> str:
        return self._world.cast.app.user_id if name == "bot" else self._world.directory.person(name).id

    def _message(self, channel: str, ts: str) -> StoredMessage:
        found = self._world.directory.channel(channel)
        message = self._world.conversations.find(found.id, ts)
        if message is None:
            raise CannotDo("message_not_found", f"No message {ts} in #{found.name}. Name one that is there.")
        return message

    def _on_loop(self, act: Callable[[], T]) -> T:
        async def done() -> T:
            return act()

        return self._awaited(done())

    def _awaited(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._world.loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._world.loop).result()
