"""A long text in parts that Slack takes."""

from bot.slack.limits import SECTION_TEXT
from bot.slack.text import clipped

_FENCE = "```"


def pages(text: str) -> list[str]:
    """Rendered mrkdwn in parts that fit a section, cut between lines; code that is cut is code on both sides."""
    parts: list[str] = [""]
    in_code = False
    for line in text.splitlines():
        if len(parts[-1]) + len(line) + 1 > SECTION_TEXT - 50:
            parts[-1] += _FENCE if in_code else ""
            parts.append(f"{_FENCE}\n" if in_code else "")
        short = clipped(line, SECTION_TEXT - 60)
        is_cut = not in_code and _FENCE not in line and short.count("`") % 2 == 1
        in_code ^= line.count(_FENCE) % 2 == 1
        parts[-1] += f"{short}`\n" if is_cut else f"{short}\n"
    return [part.strip() for part in parts if part.strip()]
