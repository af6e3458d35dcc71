"""Words of the answers: ids, times and values as a tired reader needs them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import wraps

from pyspark.sql import SparkSession

from bot.observation.contract import HIDDEN, TableContract
from bot.observation.evidence import Answer, Ask, Task, Verdict
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import few, span

MAX_ROWS = 20
IDS_IN_A_SENTENCE = 4


def ids(snapshots: Sequence[SnapshotId]) -> str:
    """`…123456, …654321 and 3 more`."""
    return few([short(snapshot) for snapshot in snapshots], IDS_IN_A_SENTENCE)


def lasting(seconds: float) -> str:
    """`45 s`, `12 min 5 s`, `3 h 20 min`, `2 d 4 h`."""
    return span(timedelta(seconds=seconds))


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


def shown_range(ask: Ask, first: int, last: int) -> str:
    """Source positions, both inclusive: `7`, `7 to 9`."""
    low, high = (shown(ask.contract.position or "", end, ask.contract) for end in (first, last))
    return low if first == last else f"{low} to {high}"


class Inconclusive(Exception):
    """The question has no answer, for want of this."""

    def __init__(self, *missing: NotSeen) -> None:
        super().__init__(missing[0].reason)
        self.missing = missing


def inconclusive(source: str, reason: str, remedy: str) -> Inconclusive:
    """For want of this one source."""
    return Inconclusive(NotSeen(source=source, reason=reason, remedy=remedy))


def could_not(headline: str, *missing: NotSeen) -> Answer:
    """An inconclusive answer that names what was missing."""
    return Answer(verdict=Verdict.INCONCLUSIVE, headline=headline, could_not_look=missing)


_Answers = Callable[[SparkSession, Ask], Answer]


def answers(task: Task) -> Callable[[_Answers], _Answers]:
    """Around a task's `answer`, which may raise Inconclusive."""

    def around(answer: _Answers) -> _Answers:
        @wraps(answer)
        def told(spark: SparkSession, ask: Ask) -> Answer:
            try:
                return answer(spark, ask)
            except Inconclusive as error:
                return could_not(f"{task.title}: no answer. {str(error).rstrip('.')}.", *error.missing)

        return told

    return around


def require_key(ask: Ask) -> None:
    """Raises Inconclusive where the contract names no key, or columns that the table does not have."""
    if not ask.contract.key:
        raise inconclusive(
            source="contract.key",
            reason="The contract names no columns that make two rows the same business fact.",
            remedy="Name them as key in the table's contract.",
        )
    require_columns(ask, *ask.contract.key)


def require_columns(ask: Ask, *columns: str | None) -> None:
    """Raises Inconclusive where the table does not have one of these."""
    if absent := absent_columns(ask, *columns):
        raise Inconclusive(*absent)


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
