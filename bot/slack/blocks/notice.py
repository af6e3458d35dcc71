"""A notice in its consumer's channel, notices that wait for approval, and who was told on the incident's card."""

from slack_sdk.models.blocks import Block, ButtonElement

from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.notice import WAYS, Answer
from bot.domain.notice_entries import ObservedReader
from bot.domain.notice_fold import HeldView
from bot.domain.told import AnswerView, DeliveryView, NoticeView
from bot.slack.blocks.parts import actions, button, clock, confirm, context, section
from bot.slack.forms import place
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


def held_message(incident: Incident, view: HeldView) -> tuple[str, list[Block]]:
    """What waits for approval, as it would be sent."""
    notices, policy = incident.previews[view.name], view.held.policy
    told = ", ".join(notice.consumer for notice in notices)
    kind = notices[0].title or notices[0].kind
    asked = "Waterline" if view.asked_by == WATERLINE else person(view.asked_by)
    head = f":lock: *{mrkdwn(kind)}* for {mrkdwn(told)}: {asked} asks to send this."
    blocks: list[Block] = [section(head)]
    for notice in notices:
        blocks.append(context(f"*To {mrkdwn(notice.consumer)}* {', '.join(place(d) for d in notice.addresses)}"))
        blocks += [section(part) for part in pages(notice.text)]
    yes = ", ".join(person(each) for each in view.said_yes)
    if view.decided is not None:
        how = "Approved and sent" if view.decided.yes else f"Turned down: {mrkdwn(view.decided.reason)}"
        blocks.append(section(f"{how}, {person(view.decided_by)}"))
        return f"{incident.id}: {kind} was decided", blocks
    missing = policy.required - len(view.said_yes)
    until = view.asked_at + policy.expires_after
    blocks.append(
        context(
            f"Needs {missing} more approval{'s' if missing > 1 else ''}, not the asker's, until {clock(until)}."
            + (f" Approved by {yes}." if yes else "")
        )
    )
    sure = confirm("Send these notices?", f"{told} will be told exactly this, at once.", "Approve and send")
    blocks.append(
        actions(
            [
                button("Approve and send", Click.APPROVE_NOTICE, incident.id, view.name, style="primary", confirm=sure),
                button("Turn down…", Click.REJECT_NOTICE, incident.id, view.name),
            ]
        )
    )
    return f"{incident.id}: {kind} waits for approval", blocks


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
    return f"{_SAID[each.answer]} {who}{text}"


def _button(incident: Incident, view: NoticeView, answer: Answer) -> ButtonElement:
    label, click = _LABELS[answer]
    return button(label, click, incident.id, str(view.seq))
