"""Asks whether planned work is over: whoever was told of it waits for its end."""

from slack_sdk.models.blocks import Block

from bot.domain.clock_time import clock_time
from bot.domain.doubt import doubted_since
from bot.domain.entries import PromiseReminded
from bot.domain.incident import Incident
from bot.domain.planned_end import stop_for_work
from bot.domain.promises import announcement
from bot.domain.savepoint_told import CALLED_OFF, OVER
from bot.domain.told import NoticeView
from bot.slack.blocks.parts import actions, button, context, section
from bot.slack.ids import Click
from bot.slack.text import mrkdwn


def reminder_of_planned_work(incident: Incident, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once the end is told, or the incident is closed, it says only that."""
    told = announcement(incident)
    if told is None:
        return f"{incident.id}: the planned work has its end", [
            context(":white_check_mark: Consumers do not wait for the end of planned work any more.")
        ]
    if not incident.is_open:
        return f"{incident.id} is closed", [
            context(f"{incident.id} was closed without the end of its planned work. It can still be told.")
        ]
    text = f"{incident.id}: is the planned work on {incident.opened.table} over?"
    said = (
        f":alarm_clock: {who}: consumers of {mrkdwn(incident.opened.table)} were told of planned work at "
        f"{clock_time(told.queued_at, body.moment)}, and wait for its end{_expected(told, body)}. Who silenced alerts "
        "for it does not hear otherwise that they can speak again. "
    )
    if doubted_since(incident) is not None:
        said += "This incident has called the table in question: tell them how it stands."
        return text, [
            section(said),
            actions([button("Preview an update…", Click.PREVIEW_NOTICE, incident.id, "update", "", style="primary")]),
        ]
    over = button("It is over…", Click.PREVIEW_NOTICE, incident.id, OVER, "", style="primary")
    if stop_for_work(incident) is not None:
        said += "It is over when the job writes again and the rows are counted. Is that still to come? Then leave it."
        return text, [section(said), actions([over])]
    off = button("It is called off…", Click.TELL_IN_WORDS, incident.id, CALLED_OFF, "")
    return text, [section(f"{said}Is it still to come? Then leave it."), actions([over, off])]


def _expected(told: NoticeView, body: PromiseReminded) -> str:
    over_by = told.notice.data.over_by if told.notice.data is not None else None
    return f", which they expect by {clock_time(over_by, body.moment)}" if over_by is not None else ""
