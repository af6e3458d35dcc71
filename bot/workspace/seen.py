"""What a person sees: messages and views, with their visible text and what can be clicked in them."""

from collections.abc import Callable, Iterable, Iterator

from pydantic import BaseModel, ConfigDict

from bot.workspace.payload import Payload
from bot.workspace.persons.forms import elements_of
from bot.workspace.plain import Names, plain_of_blocks, plain_of_mrkdwn, plain_of_text


class NotShown(AssertionError):
    """Raised when a person is to click, fill or read what is not on their screen; lists what is."""


class Control(BaseModel):
    """One thing that can be clicked or chosen."""

    model_config = ConfigDict(frozen=True)

    label: str
    block_id: str
    element: Payload

    @property
    def action_id(self) -> str:
        """The id that the app gave it."""
        return str(self.element["action_id"])

    @property
    def is_button(self) -> bool:
        """True for a button, false for a menu, picker or input."""
        return bool(self.element["type"] == "button")


class Seen:
    """Anything with blocks on a person's screen."""

    def __init__(self, blocks: list[Payload], names: Names) -> None:
        self.blocks = blocks
        self._names = names

    @property
    def plain(self) -> str:
        """All visible text."""
        return plain_of_blocks(self.blocks, self._names)

    @property
    def controls(self) -> tuple[Control, ...]:
        """Everything that can be clicked, chosen or filled in, in order."""
        return tuple(self._controls())

    @property
    def buttons(self) -> tuple[str, ...]:
        """The labels of the buttons, in order."""
        return tuple(control.label for control in self.controls if control.is_button)

    def control(self, wanted: str) -> Control | None:
        """The control with that visible label, action id or block id."""
        for control in self.controls:
            if wanted in (control.label, control.action_id, control.block_id):
                return control
        return None

    def _controls(self) -> Iterator[Control]:
        for block in self.blocks:
            for element in elements_of(block):
                if "action_id" in element:
                    label = _label(block, element, self._names)
                    yield Control(label=label, block_id=block["block_id"], element=element)


class SeenMessage(Seen):
    """One message as one person sees it; a snapshot, as it was on the screen when it was read."""

    def __init__(self, shown: Payload, names: Names, thread_of: "Callable[[SeenMessage], list[SeenMessage]]") -> None:
        super().__init__(list(shown["blocks"]), names)
        self._thread_of = thread_of
        self.shown = shown
        self.channel = str(shown["channel"])
        self.ts = str(shown["ts"])
        self.thread_ts: str | None = shown["thread_ts"]
        self.text = str(shown["text"])
        self.author = names.get(shown["user"], str(shown["user"]))
        self.is_ephemeral = shown["ephemeral_to"] is not None
        self.is_edited = shown["edited_ts"] is not None
        self.rev = int(shown["rev"])

    @property
    def plain(self) -> str:
        """All visible text: of the blocks, or the text when there are none."""
        return super().plain if self.blocks else plain_of_mrkdwn(self.text, self._names)

    @property
    def replies(self) -> "list[SeenMessage]":
        """The replies in this message's thread as they are now, oldest first."""
        return self._thread_of(self)

    def __repr__(self) -> str:
        return f"<{self.author}{' (only you)' if self.is_ephemeral else ''}: {self.plain[:80]!r} {self.buttons}>"


class SeenView(Seen):
    """An open modal, or the app's Home."""

    def __init__(self, view: Payload, names: Names) -> None:
        super().__init__(list(view["blocks"]), names)
        self.id = str(view["id"])
        self.hash = str(view["hash"])
        self.callback_id = str(view["callback_id"])
        self.private_metadata = str(view["private_metadata"])
        self.title = str(view["title"]["text"])
        self.submit = str((view.get("submit") or {}).get("text", "")) or None

    @property
    def fields(self) -> tuple[str, ...]:
        """The labels of the inputs, in order."""
        return tuple(control.label for control in self.controls if not control.is_button)

    def __repr__(self) -> str:
        return f"<view {self.title!r}: fields {self.fields}, buttons {self.buttons}>"


def listed(things: Iterable[object]) -> str:
    """The things that are there, for an error message."""
    return "; ".join(str(thing) for thing in things) or "nothing"


def _label(block: Payload, element: Payload, names: Names) -> str:
    if block["type"] == "input":
        return plain_of_text(block["label"], names)
    for key in ("text", "placeholder"):
        if isinstance(element.get(key), dict):
            return plain_of_text(element[key], names)
    return str(element["action_id"])
