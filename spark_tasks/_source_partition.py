"""How the value of a source partition is spelled, wherever it was found: a bound keeps an int in four bytes and, since
its column was widened, in eight; a row holds the number itself.

Rows of the window that have no position: nothing tells which record of the source each one is.
"""

from bot.domain.evidence import Ask
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._few_entries import Edges

NULL = "null"
"""Of rows that have none; no value is spelled so: numbers in digits, all else by its bytes in capital digits."""
WHOLE = frozenset({"int", "long"})


def of_bounds(edges: Edges, rows: int, kind: str) -> str | None:
    """The one value in a file of so many rows; None where the file holds several, null among them, or does not say."""
    if edges.stored_low is None or edges.stored_high is None:
        return NULL if edges.nulls == rows else None
    if edges.nulls:
        return None
    if kind in WHOLE:
        return str(edges.low) if edges.low is not None and edges.low == edges.high else None
    return edges.stored_low.hex().upper() if edges.stored_low == edges.stored_high else None


def of_value(value: str | None, kind: str) -> str:
    """Of a value that a row holds, as text; `kind` is one of `WHOLE`, or `string`."""
    if value is None:
        return NULL
    return str(int(value)) if kind in WHOLE else value.encode().hex().upper()


def in_words(spelled: str, kind: str) -> str | None:
    """As people write it; None: none."""
    if spelled == NULL:
        return None
    return bytes.fromhex(spelled).decode(errors="replace") if kind == "string" else spelled


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
