"""Hands deliveries to the carrier in use; repeats events that were not acknowledged, as Slack does."""

import asyncio
import secrets

from bot.workspace.clock import WorkspaceClock
from bot.workspace.delivery import Ack, Carrier, Delivery
from bot.workspace.faults import Faults
from bot.workspace.payload import Payload
from bot.workspace.people import Cast
from bot.workspace.rules import Rules
from bot.workspace.wire_log import WireLog

_RETRY_REASON = {"timed-out": "timeout", "unreachable": "connection_failed", "refused": "http_error"}


class Deliveries:
    """Sends interactions once and events until they are acknowledged or Slack gives up."""

    def __init__(self, cast: Cast, clock: WorkspaceClock, wire: WireLog, faults: Faults, carrier: Carrier) -> None:
        self._cast = cast
        self._clock = clock
        self._wire = wire
        self._faults = faults
        self._running: set[asyncio.Task[Ack]] = set()
        self._held: list[Delivery] = []
        self.carrier = carrier
        self.rules = Rules()
        self.last: Delivery | None = None

    async def send(self, delivery: Delivery) -> Ack:
        """Deliver once (twice when that fault is armed) and answer how the app acknowledged it."""
        self.last = delivery
        if self._faults.take_double_delivery():
            self._in_background(delivery)
        return await self._attempt(delivery)

    async def let_through(self) -> int:
        """Deliver what was held, in its order; answers how many."""
        held, self._held = self._held, []
        for delivery in held:
            await self._carried(delivery)
        return len(held)

    async def redeliver_last(self) -> Ack | None:
        """Deliver the newest delivery again, in a new envelope with the same payload."""
        if self.last is None:
            return None
        again = self.last
        if again.kind == "events_api":
            attempt = again.retry_attempt + 1
            again = again.model_copy(update={"retry_attempt": attempt, "retry_reason": "timeout"})
        return await self._attempt(again)

    def post_event(self, event: Payload) -> None:
        """Send an event if the app has subscribed to its type; repeat it until it is acknowledged."""
        if event["type"] not in self._cast.app.events:
            return
        payload = {
            "token": "verification-token-is-unused",
            "team_id": self._cast.team_id,
            "api_app_id": self._cast.app.app_id,
            "event": event,
            "type": "event_callback",
            "event_id": "Ev0" + secrets.token_hex(5).upper(),
            "event_time": int(self._clock.seconds()),
            "authorizations": [
                {
                    "enterprise_id": None,
                    "team_id": self._cast.team_id,
                    "user_id": self._cast.app.user_id,
                    "is_bot": True,
                    "is_enterprise_install": False,
                }
            ],
            "is_ext_shared_channel": False,
        }
        delivery = Delivery(kind="events_api", payload=payload)
        self.last = delivery
        self._keep(asyncio.get_running_loop().create_task(self._until_acknowledged(delivery)))

    def cancel_all(self) -> None:
        """Stop repeating; the workspace is closing."""
        for task in self._running:
            task.cancel()

    async def _until_acknowledged(self, delivery: Delivery) -> Ack:
        if self._faults.take_double_delivery():
            self._in_background(delivery)
        ack = await self._attempt(delivery)
        for attempt, wait_s in enumerate(self.rules.retry_after_s, start=1):
            if ack.in_time or ack.no_retry:
                break
            await self._clock.sleep_until(self._clock.seconds() + wait_s)
            reason = _RETRY_REASON[ack.outcome]
            again = delivery.model_copy(update={"retry_attempt": attempt, "retry_reason": reason})
            self.last = again
            ack = await self._attempt(again)
        return ack

    async def _attempt(self, delivery: Delivery) -> Ack:
        if self._faults.take_held_delivery():
            self._held.append(delivery)
            return Ack(outcome="acked", detail="held until it is let through")
        return await self._carried(delivery)

    async def _carried(self, delivery: Delivery) -> Ack:
        ack = await self.carrier.carry(delivery, self.rules.ack_s)
        self._wire.add(
            "delivery",
            delivery.name,
            error=None if ack.in_time else ack.outcome,
            took_ms=ack.took_ms,
            sent={"kind": delivery.kind, "retry_attempt": delivery.retry_attempt, "payload": delivery.payload},
            answered={"outcome": ack.outcome, "payload": ack.payload, "detail": ack.detail},
        )
        return ack

    def _in_background(self, delivery: Delivery) -> None:
        self._keep(asyncio.get_running_loop().create_task(self._attempt(delivery)))

    def _keep(self, task: asyncio.Task[Ack]) -> None:
        self._running.add(task)
        task.add_done_callback(self._running.discard)
