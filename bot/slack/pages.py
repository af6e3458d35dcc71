"""A long text in parts that Slack takes; nothing of it is left out."""

import re
from collections.abc import Iterator

from bot.slack.limits import SECTION_TEXT

_FENCE = "```"
_ROOM = SECTION_TEXT - 50
_ENTITY = re.compile(r"&[a-z]{0,3}$")
"""The beginning of `&lt;`, `&gt;` or `&amp;`, which is not to be torn apart."""


def pages(text: str) -> list[str]:
    """Rendered mrkdwn in parts that fit a section, cut between lines, and within a line only where it is longer than a
    part; code that is cut is code on both sides."""
    parts: list[str] = [""]
    in_code = False
    for line in text.splitlines():
        for piece in _pieces(line, in_code=in_code or _FENCE in line):
            if len(parts[-1]) + len(piece) + 1 > _ROOM:
                parts[-1] += _FENCE if in_code else ""
                parts.append(f"{_FENCE}\n" if in_code else "")
            parts[-1] += f"{piece}\n"
        in_code ^= line.count(_FENCE) % 2 == 1
    return [part.strip() for part in parts if part.strip()]


def _pieces(line: str, *, in_code: bool) -> Iterator[str]:
    """The line, in pieces where it fits no part; cut at a space if there is one."""
    most = _ROOM - 10
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
