"""Words of the answers: counts, ids and ranges as a tired reader needs them."""

from collections.abc import Sequence

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen

HIDDEN = "•••"
MAX_ROWS = 20
_IDS_IN_A_SENTENCE = 4


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 row`, `1,200 rows`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def ids(snapshots: Sequence[SnapshotId]) -> str:
    """`…123456, …654321 and 3 more`."""
    shown = ", ".join(short(snapshot) for snapshot in snapshots[:_IDS_IN_A_SENTENCE])
    more = len(snapshots) - _IDS_IN_A_SENTENCE
    return f"{shown} and {more} more" if more > 0 else shown


def cell(value: object) -> str:
    """A value as text; `none` for null, so that it is seen."""
    return "none" if value is None else str(value)


def shown(column: str, value: object, contract: TableContract) -> str:
    """A value as text, hidden where the contract redacts its column."""
    return HIDDEN if column in contract.redacted else cell(value)


def could_not(headline: str, *missing: NotSeen) -> Answer:
    """An inconclusive answer that names what was missing."""
    return Answer(verdict=Verdict.INCONCLUSIVE, headline=headline, could_not_look=missing)


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
