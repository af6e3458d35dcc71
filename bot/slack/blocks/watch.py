"""A finding of the watch, or an alert: what may wake somebody, so what is wrong comes first, and what to press last."""

from slack_sdk.models.blocks import Block

from bot.incident.approval import People
from bot.incident.diagnosis import called
from bot.incident.incident import Incident
from bot.incident.watch import SILENT, Sign
from bot.observation.ids import short
from bot.service.watching.sightings import Sight
from bot.slack.blocks.parts import actions, button, clock, context, section
from bot.slack.ids import Click
from bot.slack.text import addressed, as_sentence, clipped, code, mrkdwn, person, room, short_paths

_REASONS, _ALSO, _REASON = 4, 3, 400
MUTE_HOURS = 4


def finding_message(sight: Sight, mention: People) -> tuple[str, list[Block]]:
    """(notification text, blocks). While it lasts and nobody has opened an incident, it says why and what to do, and
    offers to open one; then it shrinks, for the card has the rest."""
    sighted, sign = sight.sighted, sight.sighted.sign
    is_over = sight.ended is not None
    text = f"{sighted.table}: {sign.headline}"
    mark = ":white_check_mark:" if is_over else ":rotating_light:" if sign.is_urgent else ":warning:"
    is_planned = sign.code in SILENT and sight.beside is not None and sight.beside.runbook.is_planned
    is_looked_at = is_over or is_planned or sight.incident is not None
    who = _asked(mention) if sign.is_urgent and not is_looked_at else ""
    title = f"{mark} *{code(sighted.table)} {mrkdwn(as_sentence(short_paths(sign.headline)))}*{who}"
    is_open = not is_over and sight.incident is None
    blocks: list[Block] = [section("\n".join([title, *(_reasons(sign) if is_open else [])]))]
    if sign.also and is_open:
        also = "\n".join(f"• {mrkdwn(_short(each))}" for each in sign.also[:_ALSO])
        blocks.append(section(f"*At the same time*\n{also}"))
    if sight.incident is None or is_over:
        blocks.append(section("\n".join(_now(sight))))
    blocks.append(context(*_small_print(sight)))
    buttons = []
    if is_open and sight.beside is None:
        buttons.append(button("Open incident", Click.OPEN, sighted.table, sighted.id, style="primary"))
    if sight.mute is not None:
        buttons.append(button("Unmute table", Click.UNMUTE, sighted.table, sighted.id))
    elif is_open:
        buttons.append(button(f"Mute table for {MUTE_HOURS} hours", Click.MUTE, sighted.table, sighted.id))
    return text, [*blocks, *([actions(buttons)] if buttons else [])]


def _reasons(sign: Sign) -> list[str]:
    reasons = [f"• {mrkdwn(as_sentence(_short(reason)))}" for reason in sign.reasons[:_REASONS]]
    hidden = len(sign.reasons) - len(reasons)
    return reasons + ([f"_{hidden} more in the diagnosis._"] if hidden > 0 else [])


def _now(sight: Sight) -> list[str]:
    """What to do while it lasts; afterwards since when it does not: nobody is sent to mend what is over."""
    sign, ended = sight.sighted.sign, sight.ended
    if ended is None:
        lines = [f"*What to do:* {mrkdwn(as_sentence(sign.advice))}"]
    else:
        lines = [f"*Over since {clock(ended.at)}:* {mrkdwn(ended.why)}"]
    if sign.last_good is None:
        return lines
    name, known = called(sign.last_good, sign.last_good_rows)
    return [*lines, f"*{name}:* {known}"]


def _small_print(sight: Sight) -> list[str]:
    sign = sight.sighted.sign
    by = [mrkdwn(sign.source)] + ([mrkdwn(sign.code)] if sign.is_of_watch else [])
    shown = [f"shown by {', '.join(short(row) for row in sign.rows)}"] if sign.rows else []
    lines = [" · ".join([*by, f"seen at {clock(sight.sighted.at)}", *shown])]
    if sign.link is not None and sign.link.startswith("https://"):
        lines.append(f"Look there: {mrkdwn(sign.link)}")
    if sight.incident is not None:
        is_open = sight.incident.is_open
        lines.append(_incident(sight.incident, "is open on this table" if is_open else "on this table is closed", "."))
    elif sight.beside is not None and sight.ended is None:
        what = "planned work" if sight.beside.runbook.is_planned else "its table was proven before this was seen"
        lines.append(_incident(sight.beside, "is open on this table", f" ({what}): diagnose it there."))
    if sight.mute is not None:
        lines.append(f":mute: Muted by {person(sight.mute.by)} until {sight.mute.until:%Y-%m-%d %H:%M} UTC.")
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
