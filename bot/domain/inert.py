"""Text from outside that is only text: it cannot hide, reorder, begin a line of its own, or format anything.

Names, values of columns, messages of exceptions and what people type may say anything; a reader must see all of it,
and must not take it for words of ours.
"""

import re

_SPACE = re.compile(r"(?<!\s)\s*[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]\s*")
"""Like those below, begins where a run begins, never within it: else a long run takes the square of its length."""
_UNSEEN = re.compile(
    "(?<![\U0001f000-\U0001faff\u2600-\u27bf\ufe0f])\u200d"
    "|[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
"""Controls, direction marks, characters of no width (a joiner inside an emoji is let be), private ones."""
_CODE = re.compile(r"(?<!`)(`[^`]+`)(?!`)")
_EMOJI = re.compile(r":(?=(?:[0-9'+-]*[a-z_][a-z0-9_'+-]*|100|1234|[+-]1):)", re.IGNORECASE)
_LOOKALIKES = str.maketrans({"*": "∗", "~": "∼", "`": "'"})
_QUOTE = re.compile(r"^(\s*)>+")
_EDGE = re.compile(r"(?<!\w)_+|(?<!_)_+(?!\w)")


def visible(text: str) -> str:
    """The same on one line, each character that is not seen shown by its number, `[U+202E]`; a line's end is ⏎."""
    return _UNSEEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", _SPACE.sub(" ⏎ ", text.strip("\r\n").expandtabs(4)))


def inert(text: str) -> str:
    """`visible`, and without formatting: stars, tildes, edge underscores, `:emoji:` and quotes become lookalikes.

    A pair of single back-ticks around something is kept with what is inside, so that a command can be copied.
    Idempotent. Escaping is left to who knows the place: Slack, HTML and Markdown differ.
    """
    return "".join(
        part if number % 2 else _unformatted(part, is_first=number == 0)
        for number, part in enumerate(_CODE.split(visible(text)))
    )


def without_emoji(text: str) -> str:
    """For a place where back-ticks mean nothing, so that what stands between them would be shown as an emoji, too."""
    return _EMOJI.sub("∶", text)


def _unformatted(text: str, *, is_first: bool) -> str:
    plain = without_emoji(text.translate(_LOOKALIKES))
    plain = _EDGE.sub(lambda found: "ˍ" * len(found[0]), plain)
    return _QUOTE.sub(r"\1›", plain) if is_first else plain
