"""Everything that the workspace is made of, built once and handed to whoever serves a part of it."""

import asyncio
import secrets
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict

from bot.workspace.clock import Rules, WorkspaceClock
from bot.workspace.deliveries import Ack, Carrier, Delivery, Handles, WireLog
from bot.workspace.faults import Faults
from bot.workspace.people import Cast, Directory, Payload, SlackRefusal
from bot.workspace.signed_http import SignedHttp
from bot.workspace.sockets import Sockets
from bot.workspace.views import Live, Views


class StoredMessage(BaseModel):
    """One revision of a message; an edit makes a new revision with the same `ts`."""

    model_config = ConfigDict(frozen=True)

    channel: str
    ts: str
    user: str
    text: str = ""
    blocks: tuple[Payload, ...] = ()
    attachments: tuple[Payload, ...] = ()
    files: tuple[Payload, ...] = ()
    bot_id: str | None = None
    username: str | None = None
    thread_ts: str | None = None
    ephemeral_to: str | None = None
    edited_ts: str | None = None
    metadata: Payload | None = None
    subtype: str | None = None
    rev: int = 1

    @property
    def in_thread(self) -> bool:
        """True for a reply; the root of a thread is not in it."""
        return self.thread_ts is not None and self.thread_ts != self.ts

    def seen_by(self, person: str) -> bool:
        """False for an ephemeral message that is somebody else's."""
        return self.ephemeral_to in (None, person)

    def on_the_wire(self, *, team: str, app_id: str, with_metadata: bool = False) -> Payload:
        body: Payload = {"type": "message", "ts": self.ts, "text": self.text, "team": team, **self._author(app_id)}
        if self.subtype:
            body["subtype"] = self.subtype
        if self.blocks:
            body["blocks"] = [dict(block) for block in self.blocks]
        if self.attachments:
            body["attachments"] = [dict(attachment) for attachment in self.attachments]
        if self.files:
            body["files"] = [dict(file) for file in self.files]
        if self.thread_ts:
            body["thread_ts"] = self.thread_ts
        if self.edited_ts:
            body["edited"] = {"user": self.user, "ts": self.edited_ts}
        if with_metadata and self.metadata:
            body["metadata"] = self.metadata
        return body

    def _author(self, app_id: str) -> Payload:
        """A person, the app, or another app that wrote by an incoming webhook and so has no user."""
        if self.bot_id is None:
            return {"user": self.user}
        if self.username is not None:
            return {"bot_id": self.bot_id, "username": self.username}
        return {"user": self.user, "bot_id": self.bot_id, "app_id": app_id}


_PNG = b"\x89PNG\r\n\x1a\n"


class StoredFile(BaseModel):
    """One file, with its bytes once they have arrived."""

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    length: int
    created_s: int
    content: bytes | None = None
    title: str = ""
    alt: str = ""
    """What a screen reader says of an image."""

    def on_the_wire(self, url: str) -> Payload:
        """The file as messages and answers show it; `url` is where the page finds its bytes."""
        return {
            "id": self.id,
            "name": self.name,
            "title": self.title or self.name,
            "size": self.length,
            "created": self.created_s,
            "filetype": self.name.rpartition(".")[2] or "text",
            "mimetype": self.mimetype,
            "url_private": url,
        } | self._as_image()

    def _as_image(self) -> Payload:
        """What Slack adds of an image: its size, which a PNG states at a fixed place, and what is said of it."""
        if self.content is None or self.mimetype != "image/png":
            return {}
        wide, high = (int.from_bytes(self.content[at : at + 4], "big") for at in (16, 20))
        return {"original_w": wide, "original_h": high, "alt_txt": self.alt}

    @property
    def mimetype(self) -> str:
        """Told by the bytes, not by the name: only a PNG is shown as an image."""
        return "image/png" if (self.content or b"").startswith(_PNG) else "application/octet-stream"


class Files:
    def __init__(self, clock: WorkspaceClock) -> None:
        self._clock = clock
        self._files: dict[str, StoredFile] = {}
        self._uploads: dict[str, str] = {}

    def expect(self, name: str, length: int, alt: str = "") -> tuple[str, StoredFile]:
        token = secrets.token_urlsafe(12)
        created_s = int(self._clock.seconds())
        file_id = "F0" + secrets.token_hex(4).upper()
        file = StoredFile(id=file_id, name=name, length=length, created_s=created_s, alt=alt)
        self._files[file.id] = file
        self._uploads[token] = file.id
        return token, file

    def receive(self, token: str, content: bytes) -> StoredFile | None:
        """Keep the bytes; none when the URL is unknown, used, or the length is another than was said."""
        file_id = self._uploads.get(token)
        if file_id is None or len(content) != self._files[file_id].length:
            return None
        del self._uploads[token]
        self._files[file_id] = self._files[file_id].model_copy(update={"content": content})
        return self._files[file_id]

    def complete(self, file_id: str, title: str) -> StoredFile:
        """The file, ready to be shown; refuses one whose bytes never came."""
        file = self._files.get(file_id)
        if file is None or file.content is None:
            raise SlackRefusal("file_not_found")
        self._files[file_id] = file.model_copy(update={"title": title})
        return self._files[file_id]

    def find(self, file_id: str) -> StoredFile | None:
        return self._files.get(file_id)


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
        if self._faults.take("double-delivery"):
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
        }
        delivery = Delivery(kind="events_api", payload=payload)
        self.last = delivery
        self._keep(asyncio.get_running_loop().create_task(self._until_acknowledged(delivery)))

    def cancel_all(self) -> None:
        """Stop repeating; the workspace is closing."""
        for task in self._running:
            task.cancel()

    async def _until_acknowledged(self, delivery: Delivery) -> Ack:
        if self._faults.take("double-delivery"):
            self._in_background(delivery)
        ack = await self._attempt(delivery)
        for attempt, wait_s in enumerate(self.rules.retry_after_s, start=1):
            if ack.in_time:
                break
            await self._clock.sleep_until(self._clock.seconds() + wait_s)
            reason = _RETRY_REASON[ack.outcome]
            again = delivery.model_copy(update={"retry_attempt": attempt, "retry_reason": reason})
            self.last = again
            ack = await self._attempt(again)
        return ack

    async def _attempt(self, delivery: Delivery) -> Ack:
        if self._faults.take("hold-delivery"):
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


_MICROSECONDS = 1_000_000


class Conversations:
    """Keeps every revision of every message; pages are told of each change."""

    def __init__(self, directory: Directory, clock: WorkspaceClock, live: Live) -> None:
        self._directory = directory
        self._clock = clock
        self._live = live
        self._revisions: dict[tuple[str, str], list[StoredMessage]] = {}
        self._order: dict[str, list[str]] = {}
        self._threads: dict[tuple[str, str], list[str]] = {}
        self._last_read: dict[tuple[str, str], str] = {}
        self._last_stamp = 0

    def next_ts(self) -> str:
        """A new time stamp, unique in the workspace, in Slack's form `seconds.micros`."""
        stamp = max(int(self._clock.seconds() * _MICROSECONDS), self._last_stamp + 1)
        self._last_stamp = stamp
        return f"{stamp // _MICROSECONDS}.{stamp % _MICROSECONDS:06d}"

    def add(self, message: StoredMessage) -> StoredMessage:
        self._revisions[message.channel, message.ts] = [message]
        self._order.setdefault(message.channel, []).append(message.ts)
        if message.in_thread and message.thread_ts:
            self._threads.setdefault((message.channel, message.thread_ts), []).append(message.ts)
        self._tell(message)
        return message

    def change(self, message: StoredMessage, **changes: object) -> StoredMessage:
        newer = message.model_copy(update={**changes, "rev": message.rev + 1})
        self._revisions[message.channel, message.ts].append(newer)
        self._tell(newer)
        return newer

    def remove(self, message: StoredMessage) -> None:
        self._order[message.channel].remove(message.ts)
        del self._revisions[message.channel, message.ts]
        self._live.tell("gone", {"channel": message.channel, "ts": message.ts}, self._audience(message))
        if message.in_thread and message.thread_ts and (root := self.find(message.channel, message.thread_ts)):
            self._tell(root)

    def find(self, channel: str, ts: str) -> StoredMessage | None:
        """The newest revision of a message."""
        revisions = self._revisions.get((channel, ts))
        return revisions[-1] if revisions else None

    def revision(self, channel: str, ts: str, rev: int) -> StoredMessage | None:
        return next((m for m in self._revisions.get((channel, ts), ()) if m.rev == rev), None)

    def revisions(self, channel: str, ts: str) -> tuple[StoredMessage, ...]:
        """All revisions of a message, oldest first."""
        return tuple(self._revisions.get((channel, ts), ()))

    def in_channel(self, channel: str) -> Iterator[StoredMessage]:
        """The newest revision of each message of a channel and its threads, oldest first."""
        for ts in tuple(self._order.get(channel, ())):
            if message := self.find(channel, ts):
                yield message

    def replies(self, channel: str, thread_ts: str) -> list[StoredMessage]:
        """The replies of a thread, oldest first, without its root."""
        found = (self.find(channel, ts) for ts in tuple(self._threads.get((channel, thread_ts), ())))
        return [message for message in found if message is not None]

    def read(self, channel: str, person: str) -> None:
        self._last_read[channel, person] = self.next_ts()

    def unread(self, channel: str, person: str) -> int:
        """How many messages of the channel itself (not of threads) the person has not seen."""
        since = self._last_read.get((channel, person), "0")
        return sum(
            1
            for m in self.in_channel(channel)
            if m.ts > since and m.user != person and not m.in_thread and m.seen_by(person)
        )

    def as_shown(self, message: StoredMessage, person: str) -> Payload:
        """The message as the page and the actors read it: with its thread's summary as that person sees it."""
        shown: Payload = message.model_dump(mode="json")
        replies = [m for m in self.replies(message.channel, message.ts) if m.seen_by(person)]
        shown["reply_count"] = len(replies)
        shown["latest_reply"] = replies[-1].ts if replies else None
        shown["reply_users"] = list(dict.fromkeys(m.user for m in replies))
        return shown

    def _audience(self, message: StoredMessage) -> tuple[str, ...]:
        if message.ephemeral_to:
            return (message.ephemeral_to,)
        return tuple(
            person
            for person in self._directory.people
            if not (channel := self._directory.channels[message.channel]).is_private or person in channel.members
        )

    def _tell(self, message: StoredMessage) -> None:
        for person in self._audience(message):
            shown = {"channel": message.channel, "message": self.as_shown(message, person)}
            self._live.tell("message", shown, (person,))
            if message.in_thread and message.thread_ts and (root := self.find(message.channel, message.thread_ts)):
                shown = {"channel": message.channel, "message": self.as_shown(root, person)}
                self._live.tell("message", shown, (person,))


class World:
    """The parts of one workspace; all of them live on the server's event loop."""

    def __init__(self, cast: Cast, rules: Rules, scopes: frozenset[str] | None = None) -> None:
        self.cast = cast
        self.rules = rules
        self.scopes = scopes
        self.url = ""
        self.loop: asyncio.AbstractEventLoop | None = None
        """That of the server, on which all of this lives."""
        self.bot_token = f"xoxb-{secrets.token_hex(16)}"
        self.app_token = f"xapp-1-{cast.app.app_id}-{secrets.token_hex(16)}"
        self.signing_secret = secrets.token_hex(16)
        self.clock = WorkspaceClock()
        self.live = Live()
        self.wire = WireLog(self.clock)
        self.faults = Faults()
        self.directory = Directory(cast)
        self.conversations = Conversations(self.directory, self.clock, self.live)
        self.views = Views(self.clock, self.live, cast)
        self.files = Files(self.clock)
        self.handles = Handles(self.clock, cast.team_id)
        self.sockets = Sockets(cast, self.wire)
        self.signed_http = SignedHttp(self.clock, self.signing_secret)
        carrier = self.sockets if cast.app.transport == "socket" else self.signed_http
        self.deliveries = Deliveries(cast, self.clock, self.wire, self.faults, carrier)
        self.set_rules(rules)
        self.wire.watch(
            lambda entry: self.live.tell("wire", {"entry": entry.model_dump(mode="json", exclude={"sent", "answered"})})
        )

    def set_rules(self, rules: Rules) -> None:
        self.rules = rules
        self.deliveries.rules = rules

    def permalink(self, channel: str, ts: str) -> str:
        return f"{self.url}/archives/{channel}/p{ts.replace('.', '')}"

    def response_url(self) -> str:
        """In the shape of Slack's. Nobody answers there: the bot uses none."""
        return f"{self.url}/response/{secrets.token_urlsafe(18)}"

    def team(self) -> Payload:
        return {"id": self.cast.team_id, "domain": self.cast.team_domain}

    def user(self, person: str) -> Payload:
        record = self.directory.people[person]
        return {"id": record.id, "username": record.name, "name": record.name, "team_id": self.team_of(person)}

    def team_of(self, person: str) -> str:
        """The person's own; of another organisation in a shared channel."""
        return self.directory.people[person].team_id or self.cast.team_id
