"""What one person has on the screen, read from the workspace as the page reads it."""

import time

from bot.workspace.loopback import Loopback
from bot.workspace.payload import Payload
from bot.workspace.people import Person
from bot.workspace.refusal import CannotDo
from bot.workspace.seen import SeenMessage, SeenView

_LONGEST_WAIT_S = 1.0


class Reading:
    """Reads messages, modals and the Home of one person, and waits for changes."""

    def __init__(self, url: str, person: Person) -> None:
        self._loopback = Loopback(url)
        self._person = person
        self._version = 0

    def messages(self, channel: str, thread_ts: str | None = None) -> list[SeenMessage]:
        """The messages of a channel or thread, oldest first."""
        query = {"thread_ts": thread_ts} if thread_ts else {}
        return self._seen(self._read("messages", channel=channel, **query))

    def everything(self, channel: str) -> list[SeenMessage]:
        """The messages of a channel and all its threads, oldest first."""
        return self._seen(self._read("messages", channel=channel, all="1"))

    def modals(self) -> list[SeenView]:
        """The open modals, the visible one last."""
        return [SeenView(view, self._names()) for view in self._read("modals")["views"]]

    def home(self) -> SeenView | None:
        """The app's Home, if one was published."""
        view = self._read("home")["view"]
        return SeenView(view, self._names()) if view else None

    def places(self, where: str | None) -> list[SeenMessage | SeenView]:
        """Where a control may be, likeliest first: `home`, a channel, or else the top modal, then all messages."""
        if where == "home":
            home = self.home()
            return [home] if home else []
        if where is not None:
            return list(reversed(self.everything(where)))
        if modals := self.modals():
            return [modals[-1]]
        channels = [channel["id"] for channel in self._overview()["channels"] if channel["is_member"]]
        messages = [message for channel in channels for message in self.everything(channel)]
        messages.sort(key=lambda message: message.ts, reverse=True)
        return [*messages]

    def waits_until(self, deadline: float) -> bool:
        """False when the deadline (of `time.monotonic`) is over; otherwise waits for a change, or a second."""
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            return False
        wait_s = min(remaining_s, _LONGEST_WAIT_S)
        self._loopback.get("/_page/changes", since=str(self._version), wait=f"{wait_s:.3f}")
        return True

    def person_id(self, name: str) -> str:
        """The id of the person with that handle, display name or id."""
        for person in self._overview()["people"]:
            if name in (person["id"], person["name"], person["display_name"]):
                return str(person["id"])
        raise CannotDo("user_not_found", f"Nobody here is called {name!r}. Use a handle of someone who is here.")

    def shortcut(self, name: str) -> str:
        """The callback_id of the app's shortcut of that name."""
        offered = {each["name"]: str(each["callback_id"]) for each in self._overview()["app"]["shortcuts"]}
        if name not in offered:
            raise CannotDo("not_rendered", f"No message offers {name!r}. Offered: {', '.join(offered) or 'nothing'}.")
        return offered[name]

    def post(self, act: str, asked: Payload) -> Payload:
        """Act as this person."""
        return self._loopback.post(f"/_page/{act}", {"person": self._person.id, **asked})

    def _read(self, what: str, **query: str) -> Payload:
        answer = self._loopback.get(f"/_page/{what}", **{"as": self._person.id, **query})
        self._version = int(answer["version"])
        return answer

    def _overview(self) -> Payload:
        return self._loopback.get("/_page/overview", **{"as": self._person.id})

    def _names(self) -> dict[str, str]:
        seen = self._overview()
        names = {person["id"]: person["display_name"] for person in seen["people"]}
        names |= {channel["id"]: channel["name"] for channel in seen["channels"]}
        names |= {group["id"]: group["handle"] for group in seen["groups"]}
        return names | {seen["app"]["user_id"]: seen["app"]["display_name"], "USLACKBOT": "Slackbot"}

    def _seen(self, answer: Payload) -> list[SeenMessage]:
        names = self._names()
        return [SeenMessage(shown, names, self._thread) for shown in answer["messages"]]

    def _thread(self, message: SeenMessage) -> list[SeenMessage]:
        root = message.thread_ts or message.ts
        return [reply for reply in self.messages(message.channel, root) if reply.ts != root]
