"""How texts of others become sentences, and how numbers of things are said in ours.

Text from outside that is only text: it cannot hide, reorder, begin a line of its own, or format anything.

Names, values of columns, messages of exceptions and what people type may say anything; a reader must see all of it,
and must not take it for words of ours.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from bot.observation.ids import UserId


def full_stop(text: str) -> str:
    """With a full stop, if it does not end its sentence by itself."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…", ":", ")")) or not text else f"{text}."


def counted(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,300 rows`; `many` where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def few(names: Sequence[str], most: int = 4) -> str:
    """`a, b, c, d and 3 more`; empty without any."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def clock_time(at: datetime, beside: datetime | None = None, *, seconds: bool = False) -> str:
    """`14:02 UTC`; where it is of another day (in UTC) than `beside`, `2 Nov, 14:02 UTC`, with the year where that is
    another. Without `beside`, as where nobody knows when it is read, always with its day and year."""
    at = at.astimezone(UTC)
    time = f"{at:%H:%M:%S} UTC" if seconds else f"{at:%H:%M} UTC"
    if beside is not None:
        beside = beside.astimezone(UTC)
        if at.date() == beside.date():
            return time
    year = "" if beside is not None and at.year == beside.year else f" {at:%Y}"
    return f"{at.day} {at:%b}{year}, {time}"


def column_times(moments: Iterable[datetime]) -> Callable[[datetime], str]:
    """How moments in UTC are said that stand under one another: `14:02:11`; with the day, `2026-11-02 14:02:11`, where
    not all of them are of one day (in UTC). Give the moment of the look with them: it is read beside them."""
    is_one_day = len({at.astimezone(UTC).date() for at in moments}) < 2
    form = "%H:%M:%S" if is_one_day else "%Y-%m-%d %H:%M:%S"
    return lambda at: at.astimezone(UTC).strftime(form)


def span(took: timedelta) -> str:
    """The two largest units that count: `2 d 3 h`, `4 min 10 s`, `12 s`; below a second `0.5 s`."""
    if timedelta(0) < took < timedelta(seconds=1):
        return f"{took.total_seconds():.2g} s"
    seconds = round(took.total_seconds())
    parts: list[str] = []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


PERSON = r"[UW][A-Z0-9]{2,}"
"""A user id, as Slack makes them."""
MENTION = re.compile(r"<([@#])([A-Z0-9]{2,})>")
"""A person or a channel in a text of ours: `@` or `#`, and the id."""
_BARE = re.compile(r"\b[UW][A-Z0-9]{7,}\b")
"""A user id without a mark; a short one might be a word."""
_TYPED = re.compile(rf"<@({PERSON})(?:\|[^<>]*)?>")
"""As Slack hands on what people type: with or without the name."""


def users_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The user ids that these texts hold, each once, in order."""
    return tuple(dict.fromkeys(found for text in texts for found in _BARE.findall(text)))


def mentioned(text: str) -> UserId | None:
    """Whom a text mentions that is nothing but a mention, `<@U0ANA00001|ana>`; None: it is something else."""
    found = _TYPED.fullmatch(text)
    return UserId(found[1]) if found else None


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
