"""Notices that wait for approval: as they would be sent, the reminder, and that they were not sent in time."""

from slack_sdk.models.blocks import Block

from bot.domain.approval_count import mentions, missing_in_words
from bot.domain.clock_time import clock_time
from bot.domain.held_times import expires_at
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.notice_fold import HeldView
from bot.domain.sentences import counted
from bot.slack.blocks.parts import actions, button, confirm, context, section
from bot.slack.blocks.readers import untold_of
from bot.slack.blocks.texts import audience, fitting, untold_blocks, words_of
from bot.slack.ids import Click
from bot.slack.text import addressed, mrkdwn, person

_TEXT_BLOCKS, _TEXT = 36, 6000
"""Of the message that asks for approval, for whole texts; the rest of it always has room."""


def held_message(incident: Incident, view: HeldView) -> tuple[str, list[Block]]:
    """What waits for approval, as it would be sent."""
    notices = incident.previews[view.name]
    told = audience(notices)
    kind = notices[0].title or notices[0].kind
    asked = "Waterline" if view.asked_by == WATERLINE else person(view.asked_by)
    head = f":lock: *{mrkdwn(kind)}* for {mrkdwn(told)}: {asked} asks to send this."
    shown, left = fitting(words_of(notices), blocks=_TEXT_BLOCKS, text=_TEXT)
    blocks: list[Block] = [section(head), *untold_blocks(untold_of(incident)), *shown]
    if left:
        untold = sum(len(each.notices) for each in left)
        blocks.append(
            section(
                f":warning: *{counted(len(left), 'more text')} for {counted(untold, 'consumer')} "
                "have no room here.* Read all of them before you approve."
            )
        )
    read = button("Read all…", Click.READ_NOTICES, incident.id, view.name)
    yes = ", ".join(person(each) for each in view.said_yes)
    if view.decided is not None:
        how = "Approved and sent" if view.decided.yes else f"Turned down: {mrkdwn(view.decided.reason)}"
        blocks += [section(f"{how}, {person(view.decided_by)}"), actions([read])]
        return f"{incident.id}: {kind} was decided", blocks
    if view.expired is not None:
        why = mrkdwn(view.expired.why) or f"Nobody approved it until {_end(view)}."
        blocks += [section(f"It was not sent. {why}"), actions([read])]
        return f"{incident.id}: {kind} was not sent", blocks
    needs = missing_in_words(view.held.policy, view.approvals)
    said = f" Approved by {yes}." if yes else ""
    blocks.append(context(f"Needs {needs}, not the asker's, until {_end(view)}.{said}"))
    sure = confirm("Send these notices?", f"{told} will be told exactly this, at once.", "Approve and send")
    blocks.append(
        actions(
            [
                button("Approve and send", Click.APPROVE_NOTICE, incident.id, view.name, style="primary", confirm=sure),
                read,
                button("Turn down…", Click.REJECT_NOTICE, incident.id, view.name),
            ]
        )
    )
    return f"{incident.id}: {kind} waits for approval", blocks


def held_reminder_message(incident: Incident, view: HeldView) -> tuple[str, list[Block]]:
    """Asks those whose yes or no is missing; once it is over, it says only that."""
    what = _what(incident, view)
    if not view.is_waiting:
        text = f"{incident.id}: the notice {what} does not wait any more"
        return text, [context(f"The notice {mrkdwn(what)} does not wait any more. Nobody needs to decide.")]
    policy = view.held.policy
    needs = missing_in_words(policy, view.approvals)
    whom = mentions((policy.remind,)) or mentions(policy.approvers, (view.asked_by, *view.said_yes))
    until = _end(view)
    asked = f":bell: {addressed(whom, policy.named)}: the notice {mrkdwn(what)} still waits for {needs}"
    return f"{incident.id}: the notice {what} still waits, until {until}", [
        section(f"{asked}, until {until}. Then it is not sent. The buttons are above this thread.")
    ]


def held_expired_message(incident: Incident, view: HeldView, needs_words: bool) -> tuple[str, list[Block]]:
    """Nobody was told: whoever asked previews it anew, from what is known by now."""
    assert view.expired is not None
    kind, what = incident.previews[view.name][0].kind, _what(incident, view)
    text = f"{incident.id}: the notice {what} was not sent"
    who = f"{person(view.expired.asks)}: " if view.expired.asks else ""
    why = mrkdwn(view.expired.why) or (
        f"Nobody approved it until {clock_time(expires_at(view))}, and what it says may not be so any more."
    )
    told = section(f":hourglass: {who}the notice {mrkdwn(what)} was *not sent*. {why}")
    if needs_words:
        return text, [told, context(f"If it is still to be sent: `/waterline tell {kind} WORDS`")]
    step = view.held.step or ""
    return text, [
        told,
        actions([button("Preview it again…", Click.PREVIEW_NOTICE, incident.id, kind, step, style="primary")]),
    ]


def _what(incident: Incident, view: HeldView) -> str:
    notices = incident.previews[view.name]
    return f"“{notices[0].title or notices[0].kind}” for {audience(notices)}"


def _end(view: HeldView) -> str:
    """With its day where it is not the day on which it was asked."""
    return clock_time(expires_at(view), view.asked_at)
