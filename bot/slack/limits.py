"""Slack's limits, in one place. Everything that is sent passes `fit` and so is never refused for its size.

A long text in parts that Slack takes; nothing of it is left out.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from slack_sdk.models.blocks import Block

from bot.slack.text import DATE

MESSAGE_BLOCKS = 50
FOLDED_BLOCKS = 10
"""In one container."""
SECTION_TEXT = 3000
CONTEXT_TEXT = 1900
HEADER_TEXT = 150
BUTTON_TEXT = 75
CONFIRM_TITLE = 100
CONFIRM_TEXT = 300
MODAL_TITLE = 24
OPTION_TEXT = 75
MOST_OPTIONS = 100
"""Of one menu."""
UPDATE_TEXT = 4000
"""Of `text` in chat.update; chat.postMessage takes ten times as much."""
AGGREGATE_TEXT = 8500
"""Slack refuses a message of about 12,000 characters over all blocks, undocumented (bolt-js 2509, 2867)."""

_CUT = {
    "type": "context",
    "elements": [{"type": "mrkdwn", "text": "_Cut to fit. The record holds all of it._", "verbatim": True}],
}


def fit(blocks: Sequence[Block]) -> list[dict[str, Any]]:
    """The blocks as JSON within the limits of a message; what is left out is said to be left out."""
    fitted: list[dict[str, Any]] = []
    budget = AGGREGATE_TEXT
    as_json = [block.to_dict() for block in blocks]
    for position, block in enumerate(as_json):
        size = text_size(block)
        has_room = size <= budget and len(fitted) < MESSAGE_BLOCKS - 1
        if not has_room and block["type"] != "actions":
            if _CUT not in fitted:
                fitted.append(_CUT)
            continue
        if len(fitted) >= MESSAGE_BLOCKS or (position and not fitted):
            continue
        budget -= size
        fitted.append(block)
    return fitted


def unfolded(blocks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same for a Slack that knows no containers: what was folded follows its title."""
    flat: list[dict[str, Any]] = []
    for block in blocks:
        if block["type"] == "container":
            flat += [{"type": "section", "text": block["title"]}, *block["child_blocks"]]
        else:
            flat.append(block)
    return flat


def text_for_update(text: str) -> str:
    """A message's text within what chat.update takes; only notifications show it, and the blocks hold all of it."""
    return text if len(text) <= UPDATE_TEXT else f"{pages(text, UPDATE_TEXT - 1)[0]}…"


def is_cut(blocks: Sequence[Block]) -> bool:
    """Whether a message of these blocks would say that something was left out."""
    return _CUT in fit(blocks)


def text_size(value: object) -> int:
    """Characters of all `text` fields of a block; of a date those that are read where it cannot be shown."""
    match value:
        case dict():
            own = value.get("text")
            own = DATE.sub(r"\1", own) if isinstance(own, str) else own
            rest = sum(text_size(v) for v in value.values() if isinstance(v, dict | list))
            return (len(own) if isinstance(own, str) else 0) + rest
        case list():
            return sum(text_size(v) for v in value)
        case _:
            return 0


_FENCE = "```"
_CLOSING = 8
"""Characters that close code at the end of a part, and open it again."""
_ENTITY = re.compile(r"&[a-z]{0,3}$")
"""The beginning of `&lt;`, `&gt;` or `&amp;`, which is not to be torn apart."""


def pages(text: str, most: int = SECTION_TEXT) -> list[str]:
    """Rendered mrkdwn in parts of at most `most` characters, cut between lines, and within a line only where it is
    longer than a part; code that is cut is code on both sides."""
    room = most - _CLOSING
    parts: list[str] = [""]
    in_code = False
    for line in text.splitlines():
        for piece in _pieces(line, room - 10, in_code=in_code or _FENCE in line):
            if len(parts[-1]) + len(piece) + 1 > room:
                parts[-1] += _FENCE if in_code else ""
                parts.append(f"{_FENCE}\n" if in_code else "")
            parts[-1] += f"{piece}\n"
        in_code ^= line.count(_FENCE) % 2 == 1
    return [part.strip() for part in parts if part.strip()]


def _pieces(line: str, most: int, *, in_code: bool) -> Iterator[str]:
    """The line, in pieces where it fits no part; cut at a space if there is one."""
    while len(line) > most:
        at = line.rfind(" ", most // 2, most)
        at = most if at == -1 else at + 1
        if torn := _ENTITY.search(line[:at]):
            at = torn.start()
        piece, line = line[:at], line[at:]
        if not in_code and piece.count("`") % 2 == 1:
            piece, line = f"{piece}`", f"`{line}"
        yield piece
    yield line
