"""Small pieces that every message is made of."""

from collections.abc import Sequence
from datetime import datetime

import humanize
from slack_sdk.models.blocks import (
    ActionsBlock,
    Block,
    ButtonElement,
    ConfirmObject,
    ContainerBlock,
    ContextBlock,
    HeaderBlock,
    PlainTextObject,
    SectionBlock,
)

from bot.observation.evidence import Measure, Task, Verdict
from bot.slack.ids import Click, value_of
from bot.slack.limits import (
    BUTTON_TEXT,
    CONFIRM_TEXT,
    CONFIRM_TITLE,
    CONTEXT_TEXT,
    FOLDED_BLOCKS,
    HEADER_TEXT,
    SECTION_TEXT,
    pages,
)
from bot.slack.text import clipped, mrkdwn, plain, written

_TROUBLE, _RELIEF, _OPEN = ":red_circle:", ":large_green_circle:", ":grey_question:"
_NEUTRAL = ":information_source:"


def sign(verdict: Verdict, task: Task | None) -> str:
    """A verdict at a glance; the word stands beside it, so nothing hangs on the colour."""
    if verdict is Verdict.INCONCLUSIVE:
        return _OPEN
    if verdict is Verdict.CONFIRMED and task is not None and task.confirmed_is == "neutral":
        return _NEUTRAL
    is_relief = (verdict is Verdict.CONFIRMED) is (task is not None and task.confirmed_is == "relief")
    return _RELIEF if is_relief else _TROUBLE


def header(text: str) -> HeaderBlock:
    return HeaderBlock(text=PlainTextObject(text=plain(text, HEADER_TEXT), emoji=True))


def section(text: str) -> SectionBlock:
    """A paragraph of mrkdwn that is escaped already."""
    return SectionBlock(text=written(clipped(text, SECTION_TEXT)))


def sections(text: str) -> list[SectionBlock]:
    """As many paragraphs as it needs to be shown whole; mrkdwn that is escaped already."""
    return [SectionBlock(text=written(part)) for part in pages(text)]


def folded(title: str, blocks: Sequence[Block]) -> list[Block]:
    """What a reader opens by a click on `title`; nothing where there are no blocks."""
    starts = range(0, len(blocks), FOLDED_BLOCKS)
    return [
        ContainerBlock(
            title=plain(title, HEADER_TEXT),
            child_blocks=blocks[at : at + FOLDED_BLOCKS],
            is_collapsible=True,
            default_collapsed=True,
        )
        for at in starts
    ]


def context(*lines: str) -> ContextBlock:
    """Small print, at most ten lines, escaped already."""
    return ContextBlock(elements=[written(clipped(line, CONTEXT_TEXT), CONTEXT_TEXT) for line in lines[:10]])


def button(
    label: str, click: Click, *ids: str, style: str | None = None, confirm: ConfirmObject | None = None
) -> ButtonElement:
    """A button whose value is ids only. Several of one kind in a message differ in what follows the colon."""
    value = value_of(*ids)
    return ButtonElement(
        text=PlainTextObject(text=plain(label, BUTTON_TEXT), emoji=True),
        action_id=f"{click.value}:{ids[-1][-40:]}" if ids else click.value,
        value=value,
        style=style,
        confirm=confirm,
    )


def actions(buttons: Sequence[ButtonElement]) -> ActionsBlock:
    return ActionsBlock(elements=list(buttons))


def confirm(title: str, text: str, yes: str, *, style: str = "primary") -> ConfirmObject:
    """Asked before a click counts; text is plain."""
    return ConfirmObject(
        title=PlainTextObject(text=plain(title, CONFIRM_TITLE)),
        text=PlainTextObject(text=plain(text, CONFIRM_TEXT)),
        confirm=PlainTextObject(text=plain(yes, 30)),
        deny=PlainTextObject(text="Not now"),
        style=style,
    )


def number(value: float) -> str:
    """12,345 or 3.2."""
    return humanize.intcomma(int(value)) if float(value).is_integer() else f"{value:,.1f}"


def measures(items: Sequence[Measure]) -> str:
    """`extra rows 220 · gaps 2`, one line: the first, and the others that are not zero. The record has them all.

    A unit that the name says already is not said again.
    """
    telling = [measure for i, measure in enumerate(items) if i == 0 or measure.value]
    return " · ".join(f"{mrkdwn(m.name)} *{number(m.value)}*{_unit(m)}" for m in telling)


def _unit(measure: Measure) -> str:
    is_said = {word.rstrip("s") for word in measure.unit.split()} <= {word.rstrip("s") for word in measure.name.split()}
    unit = measure.unit.removesuffix("s") if measure.value == 1 else measure.unit
    return "" if is_said else f" {mrkdwn(unit)}"


def clock(at: datetime) -> str:
    """14:02:11 UTC."""
    return f"{at:%H:%M:%S} UTC"


def size(count: int) -> str:
    """3.2 MB."""
    return humanize.naturalsize(count)
