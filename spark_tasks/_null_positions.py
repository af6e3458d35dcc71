"""Rows of the window that have no position: nothing tells which record of the source each one is."""

from bot.domain.evidence import Ask
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted


def without_position(ask: Ask, column: str, bare: int, rows: int, doubt: str) -> NotSeen:
    """`bare` of `rows` have null in the column; `doubt`: what is not known of them, after "whether"."""
    has = "has" if bare == 1 else "have"
    return NotSeen(
        source=f"column {column} of {ask.observation.table.name}",
        reason=f"{bare:,} of the window's {counted(max(rows, bare), 'row')} {has} null in {column}: whether {doubt} is "
        "not known.",
        remedy="Look who wrote them, and whether the job still fills it; duplicate_rows compares what lives by its "
        "key.",
    )
