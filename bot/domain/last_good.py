"""What is known of the rows up to the snapshot that a match names as the newest before the fault: only where they were
looked at and found clean may it be called good."""

from enum import StrEnum

from bot.domain.ids import SnapshotId, short


class LastGoodRows(StrEnum):
    """What evidence says of the rows up to a snapshot."""

    CLEAN = "clean"
    """They were read: no key lives twice up to it, no commit up to it repeats another, and no source position that it
    reached is missing."""
    NOT_LOOKED_AT = "not-looked-at"
    """No evidence that still holds covers them, or what it found may lie above or below: they are not proven."""
    WRONG = "wrong"
    """Evidence found something wrong at or below it, from another fault than the one that names it."""


def called(snapshot: SnapshotId, rows: LastGoodRows | None, *, in_full: bool = False) -> tuple[str, str]:
    """(what to call it, the id and what is known of it), without a full stop. `rows` None: an older version named it
    and did not say."""
    named = str(snapshot) if in_full else short(snapshot)
    match rows:
        case LastGoodRows.NOT_LOOKED_AT:
            return "Newest snapshot before it", f"{named} (not verified)"
        case LastGoodRows.WRONG:
            return "Newest snapshot before it", f"{named} (do not use: its rows are wrong for another reason)"
        case _:
            return "Last good snapshot", named
