"""`/waterline watch`, `mute` and `unmute`: what was seen, and how to hear less of it."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

from bot.domain.clock_time import clock_time
from bot.domain.errors import Refused
from bot.domain.ids import TableName, UserId
from bot.domain.mute_lengths import LONGEST
from bot.domain.watch import MESSAGE, Muted
from bot.service.muting import known_word
from bot.service.muting import unmute as end_mutes
from bot.service.services import Services
from bot.service.sightings import Sightings
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
        lines += [
            f"• {_muted(mute) or 'everything'} is muted until {mute.until:%Y-%m-%d %H:%M} UTC by <@{mute.by}>."
            for mute in memory.muted_at(now)
        ]
        lines += [
            f"• since {each.at:%Y-%m-%d %H:%M} UTC: {each.sign.headline}"
            for each in memory.lasting
            if (found := sightings.sight(each.id)) is None or found.incident is None
        ]
    return "\n".join(lines)


def _looked_at(watch: Watch | None, table: TableName, now: datetime) -> str:
    if watch is None or not watch.follows(table):
        return "not watched (`watch: false`); what alerts and messages tell of it is told"
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
    """`TABLE 4h [CODE]`: of the table as a whole, of one kind of finding, or of the alert of that name."""
    table, _, rest = command.rest.partition(" ")
    span, _, code = rest.strip().partition(" ")
    found = _SPAN.fullmatch(span)
    if not table or found is None:
        raise Refused(
            "Nothing was muted.",
            f"Expected a table and a time from 1m to {LONGEST.days}d, as 30m, 4h or 2d; found “{command.rest}”.",
            f"Type {COMMAND} mute TABLE 4h.",
        )
    length = timedelta(**{_UNITS[found[2]]: int(found[1])})
    named = _word(services, TableName(table), code)
    return _said(_sightings(services).mute(TableName(table), named, length, by=command.user))


def unmute(services: Services, command: Command) -> str:
    """`TABLE [CODE]`: hear of it again. Without a code every mute of the table ends; what remains is named."""
    name, _, code = command.rest.partition(" ")
    table, sightings = TableName(name), _sightings(services)
    ended = end_mutes(sightings, table, _word(services, table, code), by=command.user)
    lines = [f"{_silenced(each)} {'are' if each.code is None else 'is'} told again." for each in ended]
    lines = lines or [f"Nothing of that was muted on {table}."]
    lines += [
        f"Still muted: {_muted(each) or 'everything'} until {each.until:%Y-%m-%d %H:%M} UTC. "
        f"{COMMAND} unmute {table} ends every mute of the table."
        for each in sightings.muted(table)
    ]
    return "\n".join(lines)


def _word(services: Services, table: TableName, word: str) -> str | None:
    """None for the table as a whole. Raises Refused, UnknownTable."""
    sightings = _sightings(services)
    sightings.must_know(table)
    return known_word(sightings.memory(table), word.strip(), services.examiner.codes) if word.strip() else None


def mute_clicked(services: Services, click: Clicked, sighting: str) -> str:
    """The button: this kind of finding, about this table."""
    found = _sightings(services).sight(sighting)
    if found is None:
        raise Refused("This finding is not known any more.", "", f"Type {COMMAND} mute TABLE 4h.")
    sighted = found.sighted
    span = timedelta(hours=MUTE_HOURS)
    return _said(_sightings(services).mute(sighted.table, sighted.sign.muted_as, span, by=UserId(click.user)))


def _said(note: Muted) -> str:
    what = _silenced(note) if note.code else f"Everything about {note.table}"
    return (
        f"{what} is muted until {note.until:%Y-%m-%d %H:%M} UTC. It is looked at all the same; what still holds then "
        f"is told then. Take it back with {COMMAND} unmute {note.table}{' ' + note.code if note.code else ''}."
    )


def _silenced(note: Muted) -> str:
    what = f"{_muted(note)} on {note.table}" if note.code else f"Findings about {note.table}"
    return what[0].upper() + what[1:] if note.code == MESSAGE else what


def _muted(note: Muted) -> str:
    """What it silences; empty for everything."""
    return "what is written in channels" if (note.code or "").casefold() == MESSAGE else note.code or ""


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
    "mute": ("mute TABLE 4h [CODE]", "hear no findings about a table for a while", mute),
    "unmute": ("unmute TABLE [CODE]", "hear them again", unmute),
}
"""Subcommand -> usage, help, what does it."""
