"""The very texts that are sent, for whoever sends or approves them: every one, on as many pages as it takes.

Notices that a second person sends.
"""

import json
from collections.abc import Sequence

from slack_sdk.models.blocks import Block, DividerBlock, SectionBlock
from slack_sdk.models.views import View

from bot.incident.approval import mentions
from bot.incident.delivery import HeldView
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice
from bot.observation.readers import WAYS, Address, Untold
from bot.observation.sentences import counted
from bot.slack.blocks.notices import untold_line, untold_of
from bot.slack.blocks.parts import actions, button, context, section
from bot.slack.forms import PREVIEW_TITLE, modal
from bot.slack.ids import Click, Form
from bot.slack.limits import is_cut, pages, text_size
from bot.slack.text import addressed, code, mrkdwn, person, room, written

_PAGE_BLOCKS, _PAGE_TEXT = 60, 9000
"""Of one page of a modal, beside its head and its buttons: well within Slack's 100 blocks and 250 kB, and within the
12,000 characters that it allows a message without saying so."""
_NAMED = 5
Ids = tuple[str, str, str, str]
"""Incident, step, name of the preview, channel."""


Words = tuple[Notice, ...]
"""One text, and who gets it: the same words for all of them, each with their own name."""


def words_of(notices: Sequence[Notice]) -> list[Words]:
    """The notices, those together that differ by nothing but the consumer's name, in the order in which they came."""
    found: dict[tuple[str, str], list[Notice]] = {}
    for notice in notices:
        nameless = notice.text.replace(mrkdwn(notice.consumer), "\0")
        found.setdefault((nameless, as_json(notice)), []).append(notice)
    return [tuple(each) for each in found.values()]


def as_json(notice: Notice) -> str:
    """The `data` that goes along by webhook, as JSON that shows every character; empty where there is none."""
    if notice.data is None or all(way.by != "webhook" for way in notice.ways):
        return ""
    text = json.dumps(notice.data.model_dump(mode="json"), indent=2)
    return text.replace("`", "\\u0060")


def words_blocks(words: Words) -> list[Block]:
    """To whom, the text, and what goes along by webhook; nothing is cut."""
    lines = [f"*To {mrkdwn(each.consumer)}* {', '.join(place(way) for way in each.addresses)}" for each in words]
    if len(lines) > 1:
        has_names = any(mrkdwn(each.consumer) in each.text for each in words)
        same = f"; each sees their own name instead of {code(words[0].consumer)}" if has_names else ""
        lines = [f"*To {len(lines)} consumers, the same text*{same}", *(f"• {line}" for line in lines)]
    blocks: list[Block] = [_whole(part) for part in pages("\n".join(lines))]
    body: list[Block] = [_whole(part) for part in pages(words[0].text)]
    blocks += body
    if words[0].channel and is_cut(body):
        blocks.append(context(":warning: *This is too long for one Slack message. Slack shows only the beginning.*"))
    data = as_json(words[0])
    if data:
        shown = data.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        blocks.append(context("The webhook also sends this as `data`:"))
        blocks += [_whole(part) for part in pages(f"```\n{shown}\n```")]
    return blocks


def sending_view(ids: Ids, notices: Sequence[Notice], page: int = 0, untold: Sequence[Untold] = ()) -> View:
    """What submitting sends; `page` counts from 0. `untold`: who is not told by it."""
    submit = f"Send to {counted(len(notices), 'consumer')}"
    blocks = [*untold_blocks(untold), *_page(ids, notices, page)]
    return modal(PREVIEW_TITLE, *blocks, form=Form.NOTICE, submit=submit, close="Not yet", about="/".join(ids))


def untold_blocks(untold: Sequence[Untold]) -> list[Block]:
    """Whom the notices do not reach; nothing where they reach everybody."""
    return [section(untold_line(untold))] if untold else []


def audience(notices: Sequence[Notice]) -> str:
    """Their names, as far as one can take them in."""
    names = [notice.consumer for notice in notices]
    rest = len(names) - _NAMED
    return ", ".join(names) if rest <= 0 else f"{', '.join(names[:_NAMED])} and {rest} more"


def place(address: Address) -> str:
    """Where somebody is told, escaped."""
    return f"in {room(address.to)}" if address.by == "slack" else f"{WAYS[address.by]} ({mrkdwn(address.shown)})"


def _page(ids: Ids, notices: Sequence[Notice], page: int) -> list[Block]:
    all_words = words_of(notices)
    made = _pages(all_words)
    page = max(0, min(page, len(made) - 1))
    if len(made) == 1:
        return made[0]
    incident, step, name, _channel = ids
    told = f"{counted(len(notices), 'consumer')}, {counted(len(all_words), 'text')}"
    turn = [
        button(label, Click.TURN_PAGE, incident, name, step, str(to))
        for label, to in (("Previous page", page - 1), ("Next page", page + 1))
        if 0 <= to < len(made)
    ]
    where = context(f"*Page {page + 1} of {len(made)}*: {told}")
    return [where, actions(turn), DividerBlock(), *made[page], DividerBlock(), actions(turn)]


def _pages(all_words: Sequence[Words]) -> list[list[Block]]:
    """A text begins on a page of its own where it would not fit any more; one that is longer than a page goes on."""
    made: list[list[Block]] = [[]]
    for words in all_words:
        blocks = words_blocks(words)
        if made[-1] and not _fits([*made[-1], DividerBlock(), *blocks]):
            made.append([])
        elif made[-1]:
            made[-1].append(DividerBlock())
        for block in blocks:
            if not _fits([*made[-1], block]):
                made.append([])
            made[-1].append(block)
    return made


def _fits(blocks: Sequence[Block]) -> bool:
    return len(blocks) <= _PAGE_BLOCKS and _size(blocks) <= _PAGE_TEXT


def _size(blocks: Sequence[Block]) -> int:
    return sum(text_size(block.to_dict()) for block in blocks)


def _whole(part: str) -> SectionBlock:
    """A part that fits: it is not to be cut."""
    return SectionBlock(text=written(part))


def held_message(incident: Incident, view: HeldView) -> tuple[str, list[Block]]:
    """Who sends them, with a button that shows every text; afterwards who has sent them."""
    notices = incident.previews[view.name]
    kind = notices[0].title or notices[0].kind
    head = f":lock: *{mrkdwn(kind)}* for {mrkdwn(audience(notices))}"
    if view.sent_by is not None:
        return f"{incident.id}: {kind} was sent", [section(f"{head}: sent by {person(view.sent_by)}.")]
    policy = view.held.policy
    who = addressed(mentions(policy.approvers, (view.asked_by,)), policy.named)
    asks = "" if view.asked_by == WATERLINE else f"{person(view.asked_by)} wrote it. "
    return f"{incident.id}: {kind} needs somebody else to send it", [
        section(f"{head}: {asks}{who}, please read and send it."),
        *untold_blocks(untold_of(incident)),
        actions([button("Read and send…", Click.READ_NOTICES, incident.id, view.name, style="primary")]),
    ]
