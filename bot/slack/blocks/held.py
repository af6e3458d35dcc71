"""Notices that a second person sends."""

from slack_sdk.models.blocks import Block

from bot.domain.approval_count import mentions
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.notice_fold import HeldView
from bot.slack.blocks.parts import actions, button, section
from bot.slack.blocks.readers import untold_of
from bot.slack.blocks.texts import audience, untold_blocks
from bot.slack.ids import Click
from bot.slack.text import addressed, mrkdwn, person


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
