"""Text that tries to ping, link, hide, format or speak in the bot's name; and what it may not have achieved."""

import re
from collections.abc import Iterator

from hypothesis import strategies as st

ATTACKS = (
    "<!channel>", "<!here|here>", "<!subteam^S0MAL00001>", "<@U0MAL00001>", "<@U0MAL00001|ana>", "<#C0MAL00001>",
    "<https://evil.example|the record>", "https://evil.example/x", "[record](https://evil.example)", "&lt;!channel&gt;",
    "*EVIL*", "_EVIL_", "~EVIL~", "`", "``", "```", ":evil:", ":white_check_mark:", "> EVIL", "x\nLINE", "x\n*LINE*",
    "\r\n", "x\u2028LINE", "\u202eLIVE", "\u2066", "\u200b", "\u200d", "\ufeff", "\x00", "\x1b[31m", "\ud800",
    "\U000e0041", "@channel", "#general", "{{ 7*7 }}", "' OR 1=1 --", "BLAND",
)  # fmt: skip
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
_MARK = re.compile(r"<([^>]*)>?")
_OURS = re.compile(
    r"@[UW]0(?!MAL)[A-Z0-9]+|#C0(?!MAL)[A-Z0-9]+|!subteam\^S0(?!MAL)[A-Z0-9]+"
    r"|!date\^\d+\^\{time(?:_secs)?\}(?: \{date_short_pretty\})?\|[\w:, -]+ UTC"
)
_FENCE = re.compile(r"```.*?```", re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")

texts = st.lists(st.sampled_from(ATTACKS), min_size=1, max_size=4).map(" ".join) | st.lists(
    st.sampled_from(ATTACKS), min_size=1, max_size=4
).map("".join)
"""Attacks, side by side or run together."""


def faults_of_mrkdwn(text: str) -> list[str]:
    """What an attack has achieved in a text that Slack formats; empty: nothing."""
    faults = [f"a mark <{found[1]}>" for found in _MARK.finditer(text) if not _OURS.fullmatch(found[1])]
    faults += [f"hidden U+{ord(found[0]):04X}" for found in UNSEEN.finditer(text)]
    outside = _CODE.sub("", _FENCE.sub("", text))
    faults += [f"formatted {mark}" for mark in ("*EVIL*", "~EVIL~") if mark in outside]
    faults += ["formatted _EVIL_"] if re.search(r"(?<!\w)_EVIL_(?!\w)", outside) else []
    faults += ["an emoji"] if ":evil:" in outside else []
    faults += [f"an open code span: {line}" for line in outside.split("\n") if "`" in line]
    faults += ["a line of its own"] if re.search(r"^\s*(&gt; EVIL|> EVIL|[*∗]?LINE)", outside, re.MULTILINE) else []
    return faults


def faults_of_blocks(value: object) -> Iterator[str]:
    """The same for blocks or a view as they are sent."""
    match value:
        case {"type": "mrkdwn", "text": str(text), **rest}:
            yield from faults_of_mrkdwn(text)
            if rest.get("verbatim") is not True:
                yield f"Slack may turn plain words into links or mentions: {text[:40]!r}"
        case {"type": "plain_text" | "raw_text", "text": str(text)}:
            yield from (f"hidden U+{ord(found[0]):04X} in {text!r}" for found in UNSEEN.finditer(text))
            if ":evil:" in text or "\n" in text:
                yield f"an emoji, or a line of its own, in {text!r}"
        case dict():
            for inner in value.values():
                yield from faults_of_blocks(inner)
        case list() | tuple():
            for inner in value:
                yield from faults_of_blocks(inner)
