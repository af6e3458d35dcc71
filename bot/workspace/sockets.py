"""Socket Mode: one-shot tickets, hello, envelopes that each go to one connection, acknowledgements, disconnects."""

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress

from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.workspace.clock import Rules
from bot.workspace.deliveries import Ack, Delivery, WireLog
from bot.workspace.people import Cast, Payload

_AFTER_ITS_END_S = Rules().ack_s
"""How long an envelope whose connection has ended is waited for: its app may acknowledge it over the next one. A
workspace may be patient with a slow app, but an app that has died says nothing however long one waits."""

Abort = Callable[[WebSocket], None]


class Sockets:
    """The app's open connections; a carrier for deliveries."""

    def __init__(self, cast: Cast, wire: WireLog) -> None:
        self._cast = cast
        self._wire = wire
        self._tickets: set[str] = set()
        self._open: list[WebSocket] = []
        self._retiring: list[WebSocket] = []
        self._turn = 0
        self._waiting: dict[str, asyncio.Future[Payload | None]] = {}
        self._sent_over: dict[str, WebSocket] = {}
        self._sent_at: dict[str, float] = {}
        self.abort: Abort | None = None

    @property
    def count(self) -> int:
        """How many connections are open."""
        return len(self._open)

    def new_ticket(self) -> str:
        """The ticket of a connection URL; good for one connection."""
        ticket = secrets.token_urlsafe(16)
        self._tickets.add(ticket)
        return ticket

    async def serve(self, socket: WebSocket) -> None:
        ticket = socket.query_params.get("ticket", "")
        if ticket not in self._tickets:
            await socket.close(4001, "the ticket of this URL is unknown or used; call apps.connections.open again")
            return
        self._tickets.discard(ticket)
        await socket.accept()
        self._open.append(socket)
        self._wire.add("socket", "hello", sent={"num_connections": self.count})
        try:
            await socket.send_json(self._hello())
            await self._end_retiring()
            while True:
                self._receive(await socket.receive_text())
        except WebSocketDisconnect as end:
            self._wire.add("socket", "closed", sent={"code": end.code})
        finally:
            for listed in (self._open, self._retiring):
                if socket in listed:
                    listed.remove(socket)
            self._is_over(socket)

    async def carry(self, delivery: Delivery, within_s: float) -> Ack:
        """Send an envelope to one connection, in turn, and wait for its acknowledgement."""
        envelope_id = secrets.token_hex(16)
        envelope: Payload = {
            "envelope_id": envelope_id,
            "type": delivery.kind,
            "payload": delivery.payload,
            "accepts_response_payload": delivery.kind != "events_api",
        }
        if delivery.kind == "events_api":
            envelope |= {"retry_attempt": delivery.retry_attempt, "retry_reason": delivery.retry_reason or ""}
        answer: asyncio.Future[Payload | None] = asyncio.get_running_loop().create_future()
        self._waiting[envelope_id] = answer
        started = self._sent_at[envelope_id] = time.perf_counter()
        if not await self._send(envelope):
            del self._waiting[envelope_id]
            self._sent_over.pop(envelope_id, None)
            return Ack(outcome="unreachable", detail="no Socket Mode connection is open")
        try:
            payload = await asyncio.wait_for(answer, within_s)
        except TimeoutError:
            return Ack(outcome="timed-out", took_ms=_ms_since(started))
        finally:
            self._waiting.pop(envelope_id, None)
            self._sent_over.pop(envelope_id, None)
        return Ack(outcome="acked", took_ms=_ms_since(started), payload=payload)

    async def announce_disconnect(self, reason: str) -> int:
        """Tell each connection that it will end (`warning`, `refresh_requested`, …); answers how many were told.

        A connection that was told more than a warning gets no envelope any more, and ends when a new one is there.
        """
        told = list(self._open)
        for socket in told:
            await socket.send_json({"type": "disconnect", "reason": reason, "debug_info": {"host": "workspace"}})
            if reason != "warning":
                self._open.remove(socket)
                self._retiring.append(socket)
        return len(told)

    def drop(self) -> int:
        """Reset every connection as a dying network does, without a close frame; answers how many were cut."""
        cut = list(self._open)
        self._open.clear()
        for socket in cut:
            if self.abort is not None:
                self.abort(socket)
        return len(cut)

    async def _end_retiring(self) -> None:
        while self._retiring:
            with suppress(WebSocketDisconnect, RuntimeError):
                await self._retiring.pop().close(1000)

    async def _send(self, envelope: Payload) -> bool:
        for _ in range(len(self._open)):
            self._turn += 1
            socket = self._sent_over[envelope["envelope_id"]] = self._open[self._turn % len(self._open)]
            try:
                await socket.send_json(envelope)
            except (WebSocketDisconnect, RuntimeError):
                if socket in self._open:
                    self._open.remove(socket)
                continue
            return True
        return False

    def _is_over(self, socket: WebSocket) -> None:
        for envelope_id, over in self._sent_over.items():
            if over is socket:
                waiting = self._waiting[envelope_id]
                asyncio.get_running_loop().call_later(_AFTER_ITS_END_S, _give_up, waiting)

    def _receive(self, text: str) -> None:
        ack = json.loads(text)
        envelope_id = str(ack.get("envelope_id", ""))
        waiting = self._waiting.get(envelope_id)
        took_ms = _ms_since(self._sent_at.pop(envelope_id, time.perf_counter()))
        if waiting is None or waiting.done():
            self._wire.add("ack", "late ack", error="too_late", took_ms=took_ms, sent=ack)
            return
        waiting.set_result(ack.get("payload"))

    def _hello(self) -> Payload:
        return {
            "type": "hello",
            "num_connections": self.count,
            "connection_info": {"app_id": self._cast.app.app_id},
            "debug_info": {"host": "workspace", "build_number": 1, "approximate_connection_time": 18_060},
        }


def _give_up(waiting: asyncio.Future[Payload | None]) -> None:
    if not waiting.done():
        waiting.set_exception(TimeoutError())


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)
