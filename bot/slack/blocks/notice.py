"""A notice in its consumer's channel."""

from slack_sdk.models.blocks import Block, ButtonElement

from bot.domain.incident import Incident
from bot.domain.notice import Answer
from bot.domain.told import AnswerView, NoticeView
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.pages import pages
from bot.slack.text import clipped, mrkdwn, person

_LABELS: dict[Answer, tuple[str, Click]] = {
    "acknowledged": ("Acknowledge", Click.ACKNOWLEDGE),
    "re-ran": ("I re-ran", Click.RE_RAN),
    "needs-help": ("I need help…", Click.HELP),
}
_SAID: dict[Answer, str] = {
    "acknowledged": ":eyes: seen by",
    "re-ran": ":repeat: run again by",
    "needs-help": ":sos: help wanted by",
}
_ANSWERS_SHOWN = 6


def notice_message(incident: Incident, view: NoticeView) -> tuple[str, list[Block]]:
    """The very text, who has answered, and the buttons by which they do."""
    blocks: list[Block] = [section(part) for part in pages(view.notice.text)]
    shown = view.answers[-_ANSWERS_SHOWN:]
    if shown:
        blocks.append(context(*(f"{answered(each)} at {clock(each.at)}" for each in shown)))
    if view.notice.answers:
        blocks.append(actions([_button(incident, view, answer) for answer in view.notice.answers]))
    return view.notice.text, blocks


def answered(each: AnswerView) -> str:
    """What was answered, by whom."""
    text = f": {mrkdwn(clipped(each.text, 200))}" if each.text else ""
    return f"{_SAID[each.answer]} {person(each.by)}{text}"


def _button(incident: Incident, view: NoticeView, answer: Answer) -> ButtonElement:
    label, click = _LABELS[answer]
    return button(label, click, incident.id, str(view.seq))
