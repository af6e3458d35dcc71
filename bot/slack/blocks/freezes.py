"""Asks whether a table's maintenance still has to stand still."""

from slack_sdk.models.blocks import Block

from bot.domain.clock_time import clock_time
from bot.domain.entries import PromiseReminded
from bot.domain.incident import Incident
from bot.domain.journal import Entry
from bot.slack.blocks.parts import context, section
from bot.slack.text import mrkdwn


def reminder_of_freeze(incident: Incident, entry: Entry, body: PromiseReminded, who: str) -> tuple[str, list[Block]]:
    """(notification text, blocks); once maintenance goes on, it says only that."""
    table = mrkdwn(incident.opened.table)
    if incident.frozen_at != body.due:
        return f"Maintenance of {incident.opened.table} goes on", [
            context(f":white_check_mark: Maintenance of {table} is out of its freeze.")
        ]
    hours = round((entry.at - body.due).total_seconds() / 3600)
    text = f"{incident.id}: maintenance of {incident.opened.table} has been frozen for {hours} h"
    said = (
        f":snowflake: {who}: {incident.id} has kept the maintenance of {table} frozen for {hours} h, since "
        f"{clock_time(body.due, entry.at)}. No snapshot expires and no orphan file goes meanwhile: the table grows."
    )
    advice = (
        "• The table is safe: type `/waterline thaw`, or close the incident. Both set maintenance back as it was.\n"
        "• The recovery still needs it: leave it. You are asked again in a day."
    )
    return text, [section(f"{said}\n{advice}")]
