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
        return f"Maintenance of {incident.opened.table} goes on", [
            context(f":white_check_mark: Maintenance of {table} is out of its freeze.")
        ]
    lasted = timedelta(minutes=round((entry.at - body.due).total_seconds() / 60))
    hours = f"{round(lasted.total_seconds() / 3600)} h" if lasted >= timedelta(hours=1) else span(lasted)
    text = f"{incident.id}: maintenance of {incident.opened.table} has been frozen for {hours}"
    until = end_before(incident, entry)
    expected = f", and was to end by {clock_time(until, entry.at)}" if until is not None else ""
    said = (
        f":snowflake: {who}: {incident.id} has kept the maintenance of {table} frozen for {hours}, since "
        f"{clock_time(body.due, entry.at)}{expected}. "
        "No snapshot expires and no orphan file goes meanwhile: the table grows."
    )
    return text, [section(f"{said}\n{_advice(incident, entry)}")]


def _advice(incident: Incident, entry: Entry) -> str:
    """What there is to choose, or what was chosen."""
    answer = end_since(incident, entry)
    if answer is not None:
        until, by = answer
        return f"It goes on until {clock_time(until, entry.at)}, said by {person(by)}."
    return (
        "• The table is safe: type `/waterline thaw`, or close the incident. Both set maintenance back as it was.\n"
        "• The recovery still needs it: leave it, and you are asked again in a day; or say until when: "
        "`/waterline freeze until 18:00`."
    )
