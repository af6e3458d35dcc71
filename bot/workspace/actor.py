"""Drives one person through the same HTTP endpoints as the page: types, clicks, fills, reads, waits."""

import json
import time
from collections.abc import Callable
from contextlib import closing
from datetime import date
from http.client import HTTPConnection
from urllib.parse import urlencode, urlsplit

from bot.workspace.people import CannotDo, Payload, Person
from bot.workspace.persons.modals import Outcome, Raw, RawValues
from bot.workspace.seen import Control, NotShown, SeenMessage, SeenView, listed

TIMEOUT_S = 60.0


class Loopback:
    """Reads from and posts to one workspace; a fresh connection each time, so nothing is left open."""

    def __init__(self, url: str) -> None:
        split = urlsplit(url)
        self._host, self._port = split.hostname or "127.0.0.1", split.port

    def get(self, path: str, **query: str) -> Payload:
        """The JSON at a path; raises CannotDo when the workspace refuses."""
        return self._ask("GET", f"{path}?{urlencode(query)}", None)

    def post(self, path: str, body: Payload) -> Payload:
        """What came of a request; raises CannotDo when the workspace refuses."""
        return self._ask("POST", path, json.dumps(body))

    def _ask(self, method: str, path: str, body: str | None) -> Payload:
        with closing(HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)) as connection:
            connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
            response = connection.getresponse()
            answer: Payload = json.loads(response.read())
            if response.status != 200:
                raise CannotDo(str(answer.get("code", response.status)), str(answer.get("message", answer)))
        return answer


_LONGEST_WAIT_S = 1.0


class Reading:
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
        for person in self._overview()["people"]:
            if name in (person["id"], person["name"], person["display_name"]):
                return str(person["id"])
        raise CannotDo("user_not_found", f"Nobody here is called {name!r}. Use a handle of someone who is here.")

    def shortcut(self, name: str) -> str:
        offered = {each["name"]: str(each["callback_id"]) for each in self._overview()["app"]["shortcuts"]}
        if name not in offered:
            raise CannotDo("not_rendered", f"No message offers {name!r}. Offered: {', '.join(offered) or 'nothing'}.")
        return offered[name]

    def post(self, act: str, asked: Payload) -> Payload:
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


def raw_value(control: Control, value: str | list[str] | date, person_id: Callable[[str], str]) -> Raw:
    """The raw value for a control: options by visible text or value, people by name, dates as ISO text."""
    kind = control.element["type"]
    if isinstance(value, date):
        return value.isoformat()
    if kind == "users_select" and isinstance(value, str):
        return person_id(value)
    if kind == "checkboxes":
        return [_option_value(control, wanted) for wanted in ([value] if isinstance(value, str) else value)]
    if kind == "static_select" and isinstance(value, str):
        return _option_value(control, value)
    return value


def _option_value(control: Control, wanted: str) -> str:
    options = control.element["options"]
    for option in options:
        if wanted in (_text(option), option.get("value")):
            return str(option["value"])
    offered = listed(_text(option) for option in options)
    raise NotShown(f"{control.label!r} does not offer {wanted!r}. It offers: {offered}.")


def _text(option: Payload) -> str:
    return str(option["text"]["text"])


PATIENCE_S = 30.0
"""For what an app does at once, on a computer that does other work as well."""
Place = SeenMessage | SeenView | str | None


class Actor:
    """One person at their screen.

    `in_` names where to click: a message that was read before (as it was on the screen then), a view, a channel,
    or nothing for the top modal and then the newest message anywhere that shows the control.
    """

    def __init__(self, url: str, person: Person) -> None:
        self.person = person
        self._screen = Reading(url, person)
        self._filled: dict[str, RawValues] = {}
        self._done = Outcome(outcome="done")
        """What came of the last act."""

    @property
    def id(self) -> str:
        return self.person.id

    def types(self, text: str, channel: str = "orders-oncall", thread_ts: str | None = None) -> Outcome:
        """Type into the composer and press Enter; a slash command waits for its acknowledgement."""
        asked = {"channel": channel, "text": text, "thread_ts": thread_ts}
        return self._act("say", asked)

    def says(self, text: str, channel: str = "orders-oncall", thread_ts: str | None = None) -> SeenMessage:
        outcome = self.types(text, channel, thread_ts)
        return next(m for m in self._screen.everything(channel) if m.ts == outcome.ts)

    def clicks(self, label: str, in_: Place = None, *, confirm: bool = True, within_s: float = PATIENCE_S) -> Outcome:
        """Click the button with that visible label; `confirm` answers its confirmation dialog, if it has one."""
        place, control = self._find(label, in_, within_s)
        if not confirm:
            if "confirm" not in control.element:
                raise NotShown(f"{label!r} asks for no confirmation, so there is none to decline.")
            return Outcome(outcome="cancelled")
        return self._click(place, control)

    def chooses_shortcut(self, name: str, of: SeenMessage) -> Outcome:
        chosen = {"callback_id": self._screen.shortcut(name), "channel": of.channel, "ts": of.ts}
        return self._act("shortcut", chosen)

    @property
    def modal(self) -> SeenView:
        """The modal on top; waits a little for one to open."""
        deadline = time.monotonic() + PATIENCE_S
        while not (modals := self._screen.modals()):
            if not self._screen.waits_until(deadline):
                raise NotShown(f"{self.person.display_name} has no modal open. Look at the last answers and the wire.")
        return modals[-1]

    @property
    def has_modal(self) -> bool:
        """Whether a modal is open now."""
        return bool(self._screen.modals())

    def fills(self, values: dict[str, str | list[str] | date]) -> "Actor":
        modal = self.modal
        for name, value in values.items():
            control = modal.control(name)
            if control is None:
                raise NotShown(f"The modal {modal.title!r} has no field {name!r}. It has: {listed(modal.fields)}.")
            raw = raw_value(control, value, self._screen.person_id)
            self._filled.setdefault(modal.id, {}).setdefault(control.block_id, {})[control.action_id] = raw
        return self

    def submits(self) -> Outcome:
        """Submit the modal on top; `errors` of the outcome are what it objects to, by block id."""
        view_id = self.modal.id
        return self._act("submit", {"view_id": view_id, "values": self._filled.get(view_id, {})})

    def dismisses(self) -> Outcome:
        return self._act("close", {"view_id": self.modal.id})

    def home(self, within_s: float = PATIENCE_S / 2) -> SeenView:
        """Open the app's Home and wait for what the app publishes then; without news, what was published before."""
        before = self._screen.home()
        self._act("look", {"channel": None})
        deadline = time.monotonic() + within_s
        while (now := self._screen.home()) is None or (before and now.hash == before.hash):
            if not self._screen.waits_until(deadline):
                break
        if now is None:
            raise NotShown(f"The app published no Home for {self.person.display_name}. Does it handle app_home_opened?")
        return now

    def messages(self, channel: str = "orders-oncall", thread_ts: str | None = None) -> list[SeenMessage]:
        """What this person sees in a channel or thread, oldest first, with their own ephemeral messages."""
        return self._screen.messages(channel, thread_ts)

    def last_message(self, channel: str = "orders-oncall") -> SeenMessage:
        """The newest message in a channel or its threads."""
        if messages := self._screen.everything(channel):
            return messages[-1]
        raise NotShown(f"{self.person.display_name} sees no message in {channel}.")

    def waits_for(
        self,
        what: str | Callable[[SeenMessage], bool],
        channel: str = "orders-oncall",
        timeout: float = PATIENCE_S,
        *,
        after: SeenMessage | None = None,
    ) -> SeenMessage:
        """The newest message (threads too) that shows a text or meets a condition; raises NotShown at the deadline."""
        deadline = time.monotonic() + timeout
        while True:
            messages = self._screen.everything(channel)
            for message in reversed(messages):
                is_new = after is None or message.ts > after.ts
                if is_new and (what in message.plain if isinstance(what, str) else what(message)):
                    return message
            if not self._screen.waits_until(deadline):
                wanted = repr(what) if isinstance(what, str) else "what was awaited"
                raise NotShown(
                    f"{self.person.display_name} did not see {wanted} in {channel} within {timeout} s. "
                    f"The last messages there: {listed(messages[-5:])}. What they did last: {self._done.outcome}."
                )

    def _find(self, label: str, in_: Place, within_s: float) -> tuple[SeenMessage | SeenView, Control]:
        deadline = time.monotonic() + within_s
        while True:
            places = [in_] if isinstance(in_, SeenMessage | SeenView) else self._screen.places(in_)
            for place in places:
                if (control := place.control(label)) is not None:
                    return place, control
            if isinstance(in_, SeenMessage | SeenView) or not self._screen.waits_until(deadline):
                shown = [f"{place!r}" for place in places if place.controls]
                raise NotShown(
                    f"{self.person.display_name} sees nothing called {label!r} to click. "
                    f"Shown: {listed(shown[:6])}. Wait for the message, or use a label that is shown."
                )

    def _click(self, place: SeenMessage | SeenView, control: Control) -> Outcome:
        at: Payload = {"block_id": control.block_id, "action_id": control.action_id}
        if isinstance(place, SeenView):
            at |= {"view_id": place.id, "values": self._filled.get(place.id, {})}
        else:
            at |= {"channel": place.channel, "ts": place.ts, "rev": place.rev}
        return self._act("click", at)

    def _act(self, name: str, asked: Payload) -> Outcome:
        self._done = Outcome.model_validate(self._screen.post(name, asked))
        return self._done
