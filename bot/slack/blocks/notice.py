"""A notice in its consumer's channel, and who was told on the incident's card."""

from slack_sdk.models.blocks import Block, ButtonElement

from bot.domain.incident import Incident
from bot.domain.notice import WAYS, Answer
from bot.domain.notice_entries import ObservedReader
from bot.domain.rerun_words import rerun_words
from bot.domain.told import AnswerView, DeliveryView, NoticeView
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.pages import pages
from bot.slack.text import clipped, code, mrkdwn, person, room

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
_CONSUMERS_SHOWN = 12
_ANSWERS_SHOWN = 6


def notice_message(incident: Incident, view: NoticeView) -> tuple[str, list[Block]]:
    """The very text, who has answered, and the buttons by which they do."""
    blocks: list[Block] = [section(part) for part in pages(view.notice.text)]
    shown = view.answers[-_ANSWERS_SHOWN:]
    if shown:
        blocks.append(context(*(f"{_answer(each)} at {clock(each.at)}" for each in shown)))
    if view.notice.answers:
        blocks.append(actions([_button(incident, view, answer) for answer in view.notice.answers]))
    return view.notice.text, blocks


def told_lines(incident: Incident) -> list[str]:
    """For the card: each consumer's newest notice, by which ways it went, whether it arrived and was answered; then who
    was seen reading without being declared."""
    newest: dict[str, NoticeView] = {}
    for view in incident.notices.values():
        newest[view.notice.consumer] = view
    lines = [clipped(_told(view), 600) for view in list(newest.values())[:_CONSUMERS_SHOWN]]
    if len(newest) > _CONSUMERS_SHOWN:
        lines.append(f"and {len(newest) - _CONSUMERS_SHOWN} more consumers; the record has them all")
    if incident.readers is not None:
        strangers = [each for each in incident.readers.observed if not each.is_declared]
        if strangers:
            names = ", ".join(_stranger(each) for each in strangers[:8])
            more = f" and {len(strangers) - 8} more" if len(strangers) > 8 else ""
            lines.append(f":warning: Seen reading, but not declared, so nobody told them: {names}{more}")
        if incident.readers.unknown:
            lines.append(
                f":grey_question: Others may have read unseen. {mrkdwn(clipped(incident.readers.unknown, 300))}"
            )
    return lines


def _told(view: NoticeView) -> str:
    deliveries = list(view.deliveries.values())
    failed = [each for each in deliveries if each.ended is not None and each.ended.how == "failed"]
    is_sent = all(each.ended is not None for each in deliveries)
    mark = ":x:" if failed else (":white_check_mark:" if is_sent else ":hourglass_flowing_sand:")
    title = mrkdwn((view.notice.title or view.notice.kind.replace("_", " ")).lower())
    line = f"{mark} {code(view.notice.consumer)} {title}: {', '.join(_delivery(each) for each in deliveries)}"
    answers = "; ".join(_answer(each) for each in view.answers[-3:])
    return f"{line}. {answers or 'Not acknowledged yet'}"


def _delivery(delivery: DeliveryView) -> str:
    where = room(delivery.address.to) if delivery.address.by == "slack" else WAYS[delivery.address.by]
    if delivery.ended is not None and delivery.ended_at is not None:
        if delivery.ended.how == "delivered":
            return f"{where} {clock(delivery.ended_at)}"
        return f"{where} *could not be reached, call them* ({mrkdwn(clipped(delivery.ended.detail, 160))})"
    if delivery.delayed is not None:
        return f"{where} failed {delivery.delayed.number} times, again at {clock(delivery.delayed.again_at)}"
    return f"{where} on its way"


def _stranger(each: ObservedReader) -> str:
    return code(each.consumer) if each.distance == 1 else f"{code(each.consumer)} ({each.distance} runs away)"


def _answer(each: AnswerView) -> str:
    who = person(each.by) if each.via == "slack" else f"{mrkdwn(each.by)} (by {each.via})"
    text = f": {mrkdwn(clipped(each.text, 200))}" if each.text else ""
    seen = f"; {mrkdwn(clipped(rerun_words(each.check), 300))}" if each.check is not None else ""
    return f"{_SAID[each.answer]} {who}{text}{seen}"


def _button(incident: Incident, view: NoticeView, answer: Answer) -> ButtonElement:
    label, click = _LABELS[answer]
    return button(label, click, incident.id, str(view.seq))
