"""What people name when they mute a table's findings or hear of them again: known words only, and all mutes at once."""

from collections.abc import Iterable

from bot.domain.errors import Refused
from bot.domain.ids import TableName, UserId
from bot.domain.watch import ALERT, MESSAGE, Memory, Muted
from bot.service.sightings import Sightings
from bot.service.watch_leaks import LEAKED
from bot.service.watch_signs import CONDITIONS

_WORDS = CONDITIONS | {LEAKED, ALERT, MESSAGE}


def known_word(memory: Memory, word: str, modes: Iterable[str]) -> str:
    """The code or the alert's name that is meant, in any case, as it is written. `modes`: codes of failure modes.
    Raises Refused with all that are known: what nobody ever calls so would silence nothing."""
    seen = {named for each in memory.sighted.values() for named in (each.sign.code, each.sign.muted_as)}
    muted = {mute.code for mute in memory.mutes if mute.code is not None}
    codes = list(modes)
    words = sorted(_WORDS.difference(codes))
    names = sorted((seen | muted) - {*codes, *words})
    found = next((each for each in (*codes, *words, *names) if each.casefold() == word.casefold()), None)
    if found is None:
        raise Refused(
            f"No finding is called “{word}”.",
            f"Expected a failure mode ({', '.join(codes)}), one of {', '.join(words)}, or an alert that came"
            + (f": {', '.join(names)}." if names else "; none has."),
            "Use one of these, or none for everything about the table.",
        )
    return found


def unmute(sightings: Sightings, table: TableName, word: str | None, *, by: UserId) -> tuple[Muted, ...]:
    """Ends the mutes of this word, or without one every mute of the table; returns those that held. Raises
    UnknownTable."""
    sightings.must_know(table)
    held = [
        each
        for each in sightings.muted(table)
        if word is None or (each.code is not None and each.code.casefold() == word.casefold())
    ]
    for each in held:
        sightings.unmute(table, each.code, by=by)
    return tuple(held)
