"""The text of a notice in the forms of other ways: Markdown, plain text and HTML, out of the one mrkdwn. Pure."""

import html
import re

from markdown_it import MarkdownIt

from bot.observation.sentences import MENTION

_BOLD = re.compile(r"\*([^*\n]+)\*")
_CODE = re.compile(r"(`[^`\n]+`)")
_FENCE = "```"
_SPECIAL = re.compile(r"([\\\[\]])")
_OPENS = re.compile(r"^(?:[-+](?=\s|$)|#(?=#{0,5}(?:\s|$))|[-=](?=[-=\s]*$))")
"""What makes a list, a heading or a rule of a line, where it begins with that."""
_NUMBER = re.compile(r"^(\d{1,9})(?=[.)](?:\s|$))")
_PLACES = {"@": "this person in Slack", "#": "the incident's channel in Slack"}
_STYLE = (
    "font:15px/1.5 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1d1c1d;max-width:44em;"
    "margin:0 auto;padding:16px"
)
TAKES_NO_ANSWER = "Nobody reads replies to this message. Ask in the incident's channel in Slack."
"""Below a notice that did not come in Slack."""
_RENDER = MarkdownIt("commonmark", {"html": False, "breaks": True})


def as_markdown(mrkdwn: str) -> str:
    """CommonMark that says the same. People and channels become links into Slack; what others wrote stays text."""
    lines, is_fenced = [], False
    for line in mrkdwn.split("\n"):
        if line.strip() == _FENCE:
            is_fenced = not is_fenced
            lines.append(_FENCE)
        elif is_fenced:
            lines.append(html.unescape(line))
        else:
            lines.append(_markdown_line(line))
    return "\n".join(_with_breaks(lines)) + "\n"


def as_plain(mrkdwn: str) -> str:
    """For a mail's text part: no marks but bullets and code, addresses written out."""
    lines, is_fenced = [], False
    for line in mrkdwn.split("\n"):
        if line.strip() == _FENCE:
            is_fenced = not is_fenced
        else:
            lines.append(html.unescape(line if is_fenced else _plain_line(line)))
    return "\n".join(lines) + "\n"


def as_fragment(mrkdwn: str) -> str:
    """HTML to stand in a page; whatever others wrote in it is text."""
    return str(_RENDER.render(as_markdown(mrkdwn)))


def as_html(mrkdwn: str) -> str:
    """A page that needs nothing else, for a mail's HTML part; nothing in it is loaded from anywhere."""
    body = as_fragment(mrkdwn)
    body = body.replace("<pre>", '<pre style="background:#f4f4f4;padding:12px;overflow:auto;font-size:13px">')
    body += f"<p>{TAKES_NO_ANSWER}</p>\n"
    return f'<!doctype html>\n<html lang="en"><body><div style="{_STYLE}">\n{body}</div></body></html>\n'


def headline(mrkdwn: str) -> str:
    """The first line, without marks: the subject of a mail."""
    first = mrkdwn.split("\n", 1)[0]
    return html.unescape(MENTION.sub("", first).replace("*", "").replace("`", "")).strip()


def _plain_line(line: str) -> str:
    text = MENTION.sub(lambda found: f"{_address(found[2])} ({_PLACES[found[1]]})", line)
    return _BOLD.sub(r"\1", text).replace("• ", "- ")


def _markdown_line(line: str) -> str:
    """Only our own bullet makes a list: a line that begins as one, or as a heading, is what somebody wrote."""
    bullet, text = ("- ", line[2:]) if line.startswith("• ") else ("", line)
    parts = _CODE.split(text.lstrip(" "))
    told = "".join(html.unescape(part) if number % 2 else _outside_code(part) for number, part in enumerate(parts))
    return bullet + _NUMBER.sub(r"\1\\", _OPENS.sub(r"\\\g<0>", told))


def _outside_code(text: str) -> str:
    """Entities stay as they are: Markdown reads `&lt;` as Slack does."""
    text = _SPECIAL.sub(r"\\\1", text)
    text = MENTION.sub(lambda found: f"[{_PLACES[found[1]]}]({_address(found[2])})", text)
    return _BOLD.sub(r"**\1**", text)


def _with_breaks(lines: list[str]) -> list[str]:
    """Two spaces where a line is followed by one of the same paragraph: Markdown would join them."""
    told, is_fenced = [], False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        is_fenced ^= line == _FENCE
        is_joined = line and following and not following.startswith(("- ", _FENCE)) and not is_fenced
        told.append(f"{line}  " if is_joined and line != _FENCE and not line.startswith("- ") else line)
        if line.startswith("- ") and following and not following.startswith("- ") and not is_fenced:
            told.append("")
    return told


def _address(slack_id: str) -> str:
    return f"https://slack.com/app_redirect?channel={slack_id}"
