"""The messages of all channels: revisions by time stamp, threads, reactions, what each person has read."""

from collections.abc import Iterator

from bot.workspace.clock import WorkspaceClock
from bot.workspace.directory import Directory
from bot.workspace.live import Live
from bot.workspace.message import StoredMessage
from bot.workspace.payload import Payload

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
        """Keep a new message and show it."""
        self._revisions[message.channel, message.ts] = [message]
        self._order.setdefault(message.channel, []).append(message.ts)
        if message.in_thread and message.thread_ts:
            self._threads.setdefault((message.channel, message.thread_ts), []).append(message.ts)
        self._tell(message)
        return message

    def change(self, message: StoredMessage, **changes: object) -> StoredMessage:
        """Make a new revision of a message and show it in place."""
        newer = message.model_copy(update={**changes, "rev": message.rev + 1})
        self._revisions[message.channel, message.ts].append(newer)
        self._tell(newer)
        return newer

    def remove(self, message: StoredMessage) -> None:
        """Delete a message."""
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
        """One revision of a message, as a person may still have had it on the screen."""
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

    def react(self, message: StoredMessage, name: str, user: str, *, add: bool) -> StoredMessage:
        """Add or take back a reaction."""
        reactions = {key: list(users) for key, users in message.reactions}
        users = reactions.setdefault(name, [])
        if add and user not in users:
            users.append(user)
        if not add and user in users:
            users.remove(user)
        kept = tuple((key, tuple(who)) for key, who in reactions.items() if who)
        return self.change(message, reactions=kept)

    def read(self, channel: str, person: str) -> None:
        """A person has seen everything in a channel."""
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
