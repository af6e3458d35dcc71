"""Text for Slack: everything from outside is inert and escaped. A mention is made of a typed id, never of text.

Times are said in UTC everywhere. Slack shows each reader those of mrkdwn in their own zone: this is where they become
Slack's dates, and nowhere else. What is plain text or code stays in UTC, and so does all that leaves by another way.

What one person alone is told, where they asked. The gateway imports it before the use cases are there.
"""

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime, time

from slack_sdk.models.blocks import MarkdownTextObject

from bot.observation.ids import UserId
from bot.observation.sentences import PERSON, inert, visible, without_emoji
from bot.ports import Delivery, Post
from bot.slack.requests import Clicked, Command, MessageChosen, Request, Submitted

_LONG_PATH = re.compile(r"https?://\S+|(?<![\w/])(?:[a-z][a-z0-9+.-]*:/{0,3})?/?(?:[\w.=@-]+/){2,}(?=[\w.-])")
_MENTION = re.compile(rf"&lt;(?:@({PERSON})|!subteam\^(S[A-Z0-9]{{2,}})|#([CG][A-Z0-9]{{2,}}))(?:\|[^&]*)?&gt;")
_ROOM = re.compile(r"[CGD][A-Z0-9]{2,}")
_LINK = re.compile(r"(?<![\w&;])(?:\[([^\]\n]+)\]\((https://[^\s()<>|]+)\)|(https://[^\s()<>|]*[^\s()<>|.,;:!?]))")


def written(text: str, most: int = 3000) -> MarkdownTextObject:
    """A text object of mrkdwn that is escaped already. Verbatim: Slack turns no plain word into link or mention. Its
    times are Slack's dates where there is room for them: at most `most` characters."""
    dated = _local_times(text)
    return MarkdownTextObject(text=dated if len(dated) <= most else text, verbatim=True)


def mrkdwn(value: str) -> str:
    """One value from outside on one line: no mention, link, emoji or formatting in it does anything."""
    return _escaped(inert(value))


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ONE = rf"(?:(\d{{4}}-\d\d-\d\d) |(\d{{1,2}}) ({'|'.join(_MONTHS)})(?: (\d{{4}}))?, )?(\d\d:\d\d)(:\d\d)?(?![\d:.])"
_MOMENTS = re.compile(rf"(?<![\w:.-]){_ONE}(?:(?: to | until before | and |, |–){_ONE})* UTC\b(?! on \d)")
"""One moment in UTC, or several of which the last one says so; a later one may be of the day of the one before."""
DATE = re.compile(r"<!date\^[^<>|]*\|([^<>|]*)>")
_CODE = re.compile(r"(```.*?```|`[^`\n]+`|<[^<>]*>)", re.DOTALL)
_READ_AT: ContextVar[datetime | None] = ContextVar("read_at", default=None)


@contextmanager
def read_at(now: datetime) -> Iterator[None]:
    """Within it, a time without a day is one of this day in UTC."""
    token = _READ_AT.set(now)
    try:
        yield
    finally:
        _READ_AT.reset(token)


def _local_times(text: str) -> str:
    """Escaped mrkdwn, with its times in UTC as Slack's dates: in the reader's zone, with a day where the text has one.
    Outside of `read_at`, a time without a day stays as it is, and so does what is code."""
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _MOMENTS.sub(_dated, part) for number, part in enumerate(parts))


def _dated(found: re.Match[str]) -> str:
    beside = _READ_AT.get()

    def dated(one: re.Match[str]) -> str:
        nonlocal beside
        beside = at = _moment(one, beside)
        clock = "{time_secs}" if one[6] else "{time}"
        day = " {date_short_pretty}" if one[1] or one[2] else ""  # "by 14:02 today": prepositions fit the clock only
        return f"<!date^{int(at.timestamp())}^{clock}{day}|{one[0]} UTC>"

    try:
        return re.sub(_ONE, dated, found[0].removesuffix(" UTC"))
    except ValueError:  # there is no such day, or nobody knows which one is meant
        return found[0]


def _moment(one: re.Match[str], beside: datetime | None) -> datetime:
    """Raises ValueError."""
    iso, day, month, year, minutes, seconds = one.groups()
    if iso:
        on = date.fromisoformat(iso)
    elif day and (year or beside):
        on = date(int(year or f"{beside:%Y}"), _MONTHS.index(month) + 1, int(day))
    elif beside and not day:
        on = beside.date()
    else:
        raise ValueError(one[0])
    return datetime.combine(on, time.fromisoformat(minutes + (seconds or "")), UTC)


def addressed(text: str, who: Collection[str] | None = None) -> str:
    """A text of ours in which people, groups and channels are written `<@U…>`: these are shown by name.

    `who`: only these ids. None lets all through and is for what one person alone is shown, which notifies nobody.
    """

    def named(found: re.Match[str]) -> str:
        kind, an_id = next((k, v) for k, v in zip(("@", "!subteam^", "#"), found.groups(), strict=True) if v)
        return f"<{kind}{an_id}>" if who is None or an_id in who else found[0]

    return "\n".join(_MENTION.sub(named, mrkdwn(line)) for line in text.split("\n"))


def person(user: str | None) -> str:
    """A mention; text that is no user id mentions nobody."""
    return f"<@{user}>" if user and re.fullmatch(PERSON, user) else mrkdwn(user or "nobody")


def room(channel: str) -> str:
    """A channel by its id, as Slack shows it."""
    return f"<#{channel}>" if _ROOM.fullmatch(channel) else mrkdwn(channel)


def code(value: str) -> str:
    """One value in code style; back-ticks inside become apostrophes, which cannot end it."""
    return f"`{_escaped(visible(value).replace('`', chr(39)))}`"


def plain(value: str, most: int) -> str:
    """For a heading, a button or a cell: on one line, nothing hidden, no emoji, at most `most` characters."""
    return clipped(without_emoji(inert(value)), most)


def short_paths(text: str) -> str:
    """Long paths and addresses by their last part, `…/savepoint-e62766-0e10`: it tells them apart, and fits a phone.

    The record keeps them whole.
    """
    return _LONG_PATH.sub(lambda found: found[0] if found[0].startswith("http") else "…/", text)


def as_sentence(text: str) -> str:
    """With a capital and a full stop, if it has none; a name in code style or a mention stays as it is."""
    text = text.strip()
    if not text:
        return text
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…", ":")) else ".")


def clipped(value: str, most: int) -> str:
    """At most `most` characters; a cut text ends in an ellipsis."""
    return value if len(value) <= most else value[: most - 1].rstrip() + "…"


def from_markdown(prose: str) -> str:
    """A runbook's prose as mrkdwn: bold, emphasis and links (https only) are turned, the rest is escaped."""
    text = _LINK.sub(_link, _escaped("\n".join(visible(line) for line in prose.split("\n"))))
    text = re.sub(r"(?<!\*)\*(?!\*)([^*\n]+)\*(?!\*)", r"_\1_", text)
    text = re.sub(r"\*\*([^*\n]+)\*\*", r"*\1*", text)
    return re.sub(r"^[-*] ", "• ", text, flags=re.MULTILINE)


def _link(found: re.Match[str]) -> str:
    label, target, bare = found.groups()
    return f"<{target}|{label}>" if target else f"<{bare}>"


def _escaped(text: str) -> str:
    """The three characters that Slack decodes, and no other."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


_WHO = re.compile(r'"user(?:_id": ?|": ?\{"id": ?)"([UW][A-Z0-9]+)"')
"""Who asked, also in a body that is cut off or of no known shape. What people type has its quotes escaped."""


def answer_post(delivery: Delivery, request: Request, text: str) -> Post | None:
    """One answer a delivery, whoever gives it first; None where there is no channel to answer in (App Home)."""
    channel = answer_channel(request)
    if not channel:
        return None
    return Post(key=f"answer/{delivery.key}", incident=None, channel=channel, user=request.user, text=text)


def answer_unread(delivery: Delivery, text: str) -> Post | None:
    """The answer, by direct message, to what could not be read; None where not even who asked can be."""
    found = _WHO.search(delivery.payload)
    return Post(key=f"answer/{delivery.key}", incident=None, channel=UserId(found[1]), text=text) if found else None


def answer_channel(request: Request) -> str:
    """Where the person can be answered: the channel they are in; a form carries it as its last id."""
    match request:
        case Command() | Clicked() | MessageChosen():
            return request.channel
        case Submitted():
            return request.about.split("/")[-1] if request.about else ""
        case _:
            return ""
