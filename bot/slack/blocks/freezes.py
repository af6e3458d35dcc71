"""Asks whether a table's maintenance still has to stand still."""

from datetime import timedelta

from slack_sdk.models.blocks import Block

from bot.domain.entries import PromiseReminded
from bot.domain.freezes import end_before, end_since
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.domain.sentences import clock_time, span
from bot.slack.blocks.parts import context, section
from bot.slack.text import mrkdwn, person


def reminder_of_freeze(incident: Incident, entry: Entry, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once maintenance goes on, it says only that. The end it tells is the one that stood
    when it was asked; one that was said since stands in place of the advice."""
    table = mrkdwn(incident.opened.table)
    if incident.frozen_at != body.due:
        return f"Maintenance of {incident.opened.table} is running again", [
            context(f":white_check_mark: Maintenance of {table} is no longer frozen.")
        ]
    lasted = timedelta(minutes=round((entry.at - body.due).total_seconds() / 60))
    hours = f"{round(lasted.total_seconds() / 3600)} h" if lasted >= timedelta(hours=1) else span(lasted)
    text = f"{incident.id}: maintenance of {incident.opened.table} has been frozen for {hours}"
    until = end_before(incident, entry)
    expected = f"; planned end {clock_time(until, entry.at)}" if until is not None else ""
    said = (
        f":snowflake: {who}: snapshot expiry and orphan cleanup of {table} are paused for {hours} by {incident.id}, "
        "since "
        f"{clock_time(body.due, entry.at)}{expected}. Files pile up meanwhile."
    )
    return text, [section(f"{said}\n{_advice(incident, entry)}")]


def _advice(incident: Incident, entry: Entry) -> str:
    """What there is to choose, or what was chosen."""
    answer = end_since(incident, entry)
    if answer is not None:
        until, by = answer
        return f"{person(by)} extended it until {clock_time(until, entry.at)}."
    return (
        "• Recovery finished: type `/waterline thaw`, or close the incident. Both restore the old settings.\n"
        "• Recovery still running: type `/waterline freeze until 18:00`, or leave it. Waterline asks again in a day."
    )
