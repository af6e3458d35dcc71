"""What a person sees: messages and views, with their visible text and what can be clicked in them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from pydantic import BaseModel, ConfigDict

from bot.workspace.people import Payload
from bot.workspace.persons.modals import elements_of

Names = Mapping[str, str]
"""Display names by id of people, channels and user groups."""

_HIDDEN = ("confirm", "options", "placeholder")
_MARK = re.compile(r"<([^<>|]+)(?:\|([^<>]*))?>")
_STYLES = (
    re.compile(r"(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])"),
    re.compile(r"(?<![\w~])~(?=\S)([^~\n]+?)(?<=\S)~(?![\w~])"),
    re.compile(r"(?<![\w_])_(?=\S)([^_\n]+?)(?<=\S)_(?![\w_])"),
)


def plain_of_mrkdwn(text: str, names: Names) -> str:
    """Mrkdwn as it reads on the screen; what Slack escaped is shown as typed."""
    parts = text.split("`")
    for index in range(0, len(parts), 2):
        for style in _STYLES:
            parts[index] = style.sub(r"\1", parts[index])
    return unescaped(_MARK.sub(lambda found: _mark(found, names), "".join(parts)))


def unescaped(text: str) -> str:
    """The three entities that Slack decodes, each once."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def plain_of_blocks(blocks: list[Payload], names: Names) -> str:
    return "\n".join(line for line in _lines(blocks, names) if line)


def plain_of_text(value: Payload, names: Names) -> str:
    text = str(value["text"])
    return plain_of_mrkdwn(text, names) if value.get("type") == "mrkdwn" else unescaped(text)


def _lines(value: object, names: Names) -> Iterator[str]:
    if isinstance(value, list):
        for inner in value:
            yield from _lines(inner, names)
    elif isinstance(value, dict):
        yield from _lines_of(value, names)


def _lines_of(value: Payload, names: Names) -> Iterator[str]:
    match value.get("type"):
        case "mrkdwn" | "plain_text":
            yield plain_of_text(value, names)
        case "raw_text":
            yield str(value["text"])
        case "table":
            yield from (" | ".join(plain_of_blocks([cell], names) for cell in row) for row in value["rows"])
        case _:
            yield from (line for key in value if key not in _HIDDEN for line in _lines(value[key], names))


def _mark(found: re.Match[str], names: Names) -> str:
    target, label = found.groups()
    if target.startswith("@"):
        return "@" + names.get(target[1:], label or target[1:])
    if target.startswith("#"):
        return "#" + names.get(target[1:], label or target[1:])
    if target.startswith("!subteam^"):
        group = target.removeprefix("!subteam^")
        return "@" + names.get(group, (label or group).lstrip("@"))
    if target.startswith("!date^"):
        return label or target
    if target.startswith("!"):
        return "@" + target[1:]
    return label or target.removeprefix("mailto:")


class NotShown(AssertionError):
    """Raised when a person is to click, fill or read what is not on their screen; lists what is."""


class Control(BaseModel):
    model_config = ConfigDict(frozen=True)

    label: str
    block_id: str
    element: Payload

    @property
    def action_id(self) -> str:
        return str(self.element["action_id"])

    @property
    def is_button(self) -> bool:
        return bool(self.element["type"] == "button")


class Seen:
    """Anything with blocks on a person's screen."""

    def __init__(self, blocks: list[Payload], names: Names) -> None:
        self.blocks = blocks
        self._names = names

    @property
    def plain(self) -> str:
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
    def at_first(self) -> str:
        """The visible text before anything that is folded was opened."""
        shown = [each["title"] if each.get("default_collapsed") else each for each in self.blocks]
        return plain_of_blocks(shown, self._names) if shown else self.plain

    @property
    def replies(self) -> "list[SeenMessage]":
        """The replies in this message's thread as they are now, oldest first."""
        return self._thread_of(self)

    def __repr__(self) -> str:
        return f"<{self.author}{' (only you)' if self.is_ephemeral else ''}: {self.plain[:80]!r} {self.buttons}>"


class SeenView(Seen):
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
    return "; ".join(str(thing) for thing in things) or "nothing"


def _label(block: Payload, element: Payload, names: Names) -> str:
    if block["type"] == "input":
        return plain_of_text(block["label"], names)
    for key in ("text", "placeholder"):
        if isinstance(element.get(key), dict):
            return plain_of_text(element[key], names)
    return str(element["action_id"])
