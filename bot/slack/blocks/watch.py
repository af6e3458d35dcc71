"""A finding of the watch, or an alert: what may wake somebody, so what is wrong comes first, and what to press last."""

from slack_sdk.models.blocks import Block

from bot.incident.approval import People
from bot.incident.diagnosis import called
from bot.incident.incident import Incident
from bot.incident.watch import SILENT, WatchFinding
from bot.observation.ids import short
from bot.service.watching.finding_store import FindingStatus
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.text import addressed, as_sentence, clipped, code, mrkdwn, person, room, short_paths

_REASONS, _ALSO, _REASON = 4, 3, 400
MUTE_HOURS = 4


def finding_message(status: FindingStatus, mention: People) -> tuple[str, list[Block]]:
    """(notification text, blocks). While it lasts and nobody has opened an incident, it says why and what to do, and
    offers to open one; then it shrinks, for the card has the rest."""
    reported, finding = status.reported, status.reported.finding
    is_over = status.ended is not None
    text = f"{reported.table}: {finding.headline}"
    mark = ":white_check_mark:" if is_over else ":rotating_light:" if finding.is_urgent else ":warning:"
    is_planned = finding.code in SILENT and status.beside is not None and status.beside.runbook.is_planned
    is_looked_at = is_over or is_planned or status.incident is not None
    who = _asked(mention) if finding.is_urgent and not is_looked_at else ""
    title = f"{mark} *{code(reported.table)} {mrkdwn(as_sentence(short_paths(finding.headline)))}*{who}"
    is_open = not is_over and status.incident is None
    blocks: list[Block] = [section("\n".join([title, *(_reasons(finding) if is_open else [])]))]
    if finding.also and is_open:
        also = "\n".join(f"• {mrkdwn(_short(each))}" for each in finding.also[:_ALSO])
        blocks.append(section(f"*At the same time*\n{also}"))
    if status.incident is None or is_over:
        blocks.append(section("\n".join(_now(status))))
    blocks.append(context(*_small_print(status)))
    buttons = []
    if is_open and status.beside is None:
        buttons.append(button("Open incident", Click.OPEN, reported.table, reported.id, style="primary"))
    if status.mute is not None:
        buttons.append(button("Unmute table", Click.UNMUTE, reported.table, reported.id))
    elif is_open:
        buttons.append(button(f"Mute table for {MUTE_HOURS} hours", Click.MUTE, reported.table, reported.id))
    return text, [*blocks, *([actions(buttons)] if buttons else [])]


def _reasons(finding: WatchFinding) -> list[str]:
    reasons = [f"• {mrkdwn(as_sentence(_short(reason)))}" for reason in finding.reasons[:_REASONS]]
    hidden = len(finding.reasons) - len(reasons)
    return reasons + ([f"_{hidden} more in the diagnosis._"] if hidden > 0 else [])


def _now(status: FindingStatus) -> list[str]:
    """What to do while it lasts; afterwards since when it does not: nobody is sent to mend what is over."""
    finding, ended = status.reported.finding, status.ended
    if ended is None:
        lines = [f"*What to do:* {mrkdwn(as_sentence(finding.advice))}"]
    else:
        lines = [f"*Over since {clock(ended.at)}:* {mrkdwn(ended.why)}"]
    if finding.last_good is None:
        return lines
    name, known = called(finding.last_good, finding.last_good_rows)
    return [*lines, f"*{name}:* {known}"]


def _small_print(status: FindingStatus) -> list[str]:
    finding = status.reported.finding
    by = [mrkdwn(finding.source)] + ([mrkdwn(finding.code)] if finding.is_of_watch else [])
    shown = [f"shown by {', '.join(short(row) for row in finding.rows)}"] if finding.rows else []
    lines = [" · ".join([*by, f"seen at {clock(status.reported.at)}", *shown])]
    if finding.link is not None and finding.link.startswith("https://"):
        lines.append(f"Look there: {mrkdwn(finding.link)}")
    if status.incident is not None:
        is_open = status.incident.is_open
        lines.append(_incident(status.incident, "is open on this table" if is_open else "on this table is closed", "."))
    elif status.beside is not None and status.ended is None:
        what = "planned work" if status.beside.runbook.is_planned else "its table was proven before this was seen"
        lines.append(_incident(status.beside, "is open on this table", f" ({what}): diagnose it there."))
    if status.mute is not None:
        lines.append(f":mute: Muted by {person(status.mute.by)} until {status.mute.until:%Y-%m-%d %H:%M} UTC.")
    return lines


def _incident(incident: Incident, state: str, end: str) -> str:
    where = "A private incident" if incident.is_private else f"Incident {incident.id}"
    place = "" if incident.is_private else f" in {room(incident.opened.channel)}"
    return f":arrow_right: {where} {state}{place}{end}"


def _short(text: str) -> str:
    return clipped(short_paths(text), _REASON)


def _asked(mention: People) -> str:
    named = [f"<@{user}>" for user in mention.users] + [f"<!subteam^{group}>" for group in mention.groups]
    return f" {addressed(' '.join(named), {*mention.users, *mention.groups})}" if named else ""
