"""`/waterline watch`, `mute` and `unmute`: what was seen, and how to hear less of it."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from bot.domain.errors import Refused
from bot.domain.ids import TableName, UserId
from bot.domain.sentences import clock_time
from bot.service.services import Services
from bot.service.sightings import LONGEST_MUTE, Sightings
from bot.service.watching import Watch
from bot.slack.blocks.watch import MUTE_HOURS
from bot.slack.ids import COMMAND
from bot.slack.requests import Clicked, Command

_SPAN = re.compile(r"(\d{1,4})(m|h|d)")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}
_LATE = 3
"""Times the pace of the watch after which a look is missed."""


def watched(services: Services, _command: Command) -> str:
    """Each table: when it was looked at, what lasts, what is muted."""
    sightings, now = _sightings(services), services.clock.now()
    lines = []
    for table in sightings.tables:
        memory = sightings.memory(table)
        lines.append(f"{table}: {_looked_at(services.watch, table, now)}.")
        if (mute := memory.mute_at(now)) is not None:
            lines.append(f"• It is muted until {mute.until:%Y-%m-%d %H:%M} UTC by <@{mute.by}>.")
        lines += [
            f"• since {each.at:%Y-%m-%d %H:%M} UTC: {each.sign.headline}"
            for each in memory.lasting
            if (found := sightings.sight(each.id)) is None or found.incident is None
        ]
    return "\n".join(lines)


def _looked_at(watch: Watch | None, table: TableName, now: datetime) -> str:
    if watch is None or not watch.follows(table):
        return "not watched (`watch: false`); alerts about it are posted"
    at = watch.looked_at(table)
    if at is None:
        return "not looked at by this process yet"
    hidden = ", ".join(sorted(watch.unseen(table)))
    could_not = f", without {hidden}, which could not be seen" if hidden else ""
    late = (
        ", and no look has come to its end since: the bot's log has more"
        if now - at > _LATE * watch.terms.every
        else ""
    )
    return f"looked at {clock_time(at, now, seconds=True)}{could_not}{late}"


def mute(services: Services, command: Command) -> str:
    """`TABLE 4h`: no messages about the table for so long."""
    table, _, length = command.rest.partition(" ")
    found = _SPAN.fullmatch(length.strip())
    if not table or found is None:
        raise Refused(
            "Nothing was muted.",
            f"Expected a table and a time from 1m to {LONGEST_MUTE.days}d, as 30m, 4h or 2d; found “{command.rest}”.",
            f"Type {COMMAND} mute TABLE 4h.",
        )
    return _muted(services, TableName(table), timedelta(**{_UNITS[found[2]]: int(found[1])}), command.user)


def mute_clicked(services: Services, click: Clicked, table: str) -> str:
    """The button of a finding."""
    return _muted(services, TableName(table), timedelta(hours=MUTE_HOURS), click.user)


def _muted(services: Services, table: TableName, length: timedelta, by: UserId) -> str:
    note = _sightings(services).mute(table, length, by=by)
    return (
        f"{table} is muted until {note.until:%Y-%m-%d %H:%M} UTC. Waterline goes on looking at it, and posts then what "
        f"still lasts. To end the mute, type {COMMAND} unmute {table}."
    )


def unmute(services: Services, command: Command) -> str:
    """`TABLE`: hear of it again."""
    table = TableName(command.rest)
    is_ended = _sightings(services).unmute(table, by=command.user)
    return f"Findings about {table} are posted again." if is_ended else f"{table} was not muted."


def _sightings(services: Services) -> Sightings:
    if services.sightings is None:
        raise Refused(
            "Tables are not watched here.",
            "Expected the section `watch` in the configuration file.",
            "Add it, and start Waterline again.",
        )
    return services.sightings


MORE: dict[str, tuple[str, str, Callable[[Services, Command], str]]] = {
    "watch": ("watch", "what is watched, what was seen, what is muted", watched),
    "mute": ("mute TABLE 4h", "post no findings about a table for a while", mute),
    "unmute": ("unmute TABLE", "post them again", unmute),
}
"""Subcommand -> usage, help, what does it."""
