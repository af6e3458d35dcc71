"""Words of the answers: ids, times and values as a tired reader needs them."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from bot.observation.contract import HIDDEN, TableContract
from bot.observation.evidence import Answer, Ask, Verdict
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen

MAX_ROWS = 20
IDS_IN_A_SENTENCE = 4


def ids(snapshots: Sequence[SnapshotId]) -> str:
    """`…123456, …654321 and 3 more`."""
    shown = ", ".join(short(snapshot) for snapshot in snapshots[:IDS_IN_A_SENTENCE])
    more = len(snapshots) - IDS_IN_A_SENTENCE
    return f"{shown} and {more} more" if more > 0 else shown


def lasting(seconds: float) -> str:
    """A length of time by its two largest units: `45 s`, `12 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    if abs(seconds) < 60:
        return f"{seconds:.3g} s"
    left, parts = round(abs(seconds)), []
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        amount, left = divmod(left, size)
        parts.append(f"{amount} {unit}" if amount else "")
    first = next(place for place, part in enumerate(parts) if part)
    return ("-" if seconds < 0 else "") + " ".join(part for part in parts[first : first + 2] if part)


def moment(micros: int) -> str:
    """Microseconds since 1970 as `2026-11-03 14:02:11 UTC`."""
    return f"{at(micros):%Y-%m-%d %H:%M:%S} UTC"


def at(micros: int) -> datetime:
    """Microseconds since 1970 as a moment."""
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def cell(value: object) -> str:
    """A value as text; `none` for null, so that it is seen."""
    return "none" if value is None else str(value)


def shown(column: str, value: object, contract: TableContract) -> str:
    """A value as text, hidden where the contract redacts its column."""
    return HIDDEN if contract.hides(column) else cell(value)


def could_not(headline: str, *missing: NotSeen) -> Answer:
    """An inconclusive answer that names what was missing."""
    return Answer(verdict=Verdict.INCONCLUSIVE, headline=headline, could_not_look=missing)


def without_key(ask: Ask, what: str) -> Answer | None:
    """An inconclusive answer where the contract names no key, or columns that the table does not have."""
    if not ask.contract.key:
        return could_not(
            f"{what} cannot be told: the contract of {ask.observation.table.name} names no key.",
            NotSeen(
                source="contract.key",
                reason="The contract names no columns that make two rows the same business fact.",
                remedy="Name them as key in the table's contract.",
            ),
        )
    missing = absent_columns(ask, *ask.contract.key)
    return could_not(f"{what} cannot be told: {missing[0].reason}", *missing) if missing else None


def absent_columns(ask: Ask, *columns: str | None) -> tuple[NotSeen, ...]:
    """A NotSeen for each column that the contract names and the table does not have."""
    table = ask.observation.table
    present = {column.name for column in table.columns}
    return tuple(
        NotSeen(
            source=f"column {column} of {table.name}",
            reason=f"The contract names a column {column}; the table has {', '.join(sorted(present))}.",
            remedy="Correct the table's contract in the configuration, then ask again.",
        )
        for column in columns
        if column is not None and column not in present
    )
