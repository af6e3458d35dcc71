"""The text that a person reads in a message or a view: blocks without their marks."""

import re
from collections.abc import Iterator, Mapping

from bot.workspace.payload import Payload

Names = Mapping[str, str]
"""Display names by id of people, channels and user groups."""

_HIDDEN = ("confirm", "options", "option_groups", "placeholder")
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
    """All visible text of blocks, one line for each text."""
    return "\n".join(line for line in _lines(blocks, names) if line)


def plain_of_text(value: Payload, names: Names) -> str:
    """The visible text of a text object."""
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
        case "rich_text_section" | "rich_text_preformatted" | "rich_text_quote":
            yield "".join(_inline(element, names) for element in value["elements"])
        case "markdown" | "raw_text":
            yield str(value["text"])
        case "raw_number":
            yield str(value.get("text") or value["value"])
        case "image":
            yield str(value.get("alt_text", ""))
        case "table":
            yield from (" | ".join(plain_of_blocks([cell], names) for cell in row) for row in value["rows"])
        case _:
            yield from (line for key in value if key not in _HIDDEN for line in _lines(value[key], names))


def _inline(element: Payload, names: Names) -> str:
    match element["type"]:
        case "link":
            return str(element.get("text") or element["url"])
        case "user":
            return "@" + names.get(element["user_id"], element["user_id"])
        case "channel":
            return "#" + names.get(element["channel_id"], element["channel_id"])
        case "usergroup":
            return "@" + names.get(element["usergroup_id"], element["usergroup_id"])
        case "emoji":
            return f":{element['name']}:"
        case "broadcast":
            return "@" + str(element["range"])
        case "date":
            return str(element.get("fallback") or element["timestamp"])
        case _:
            return str(element.get("text", ""))


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
