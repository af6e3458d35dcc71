"""Rows near given source positions, read by the bounds of their files.

Whether rows at one place of the source are of one record: partitions, or topics, may number their records alike.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.looked import NotSeen
from bot.history.source_starts import went_back
from spark_tasks._reading import column

_APART = 50
"""Ranges that are told to the files one by one; of more, one range that holds them all."""
_PRUNED = ("int", "long", "string")
"""How the types begin whose bounds in the files leave out other partitions."""


@dataclass(frozen=True)
class Edge:
    """Where a source partition stands at the window's beginning."""

    partition: str | None
    lowest: int
    """The lowest position that the window's commits brought, rolled-back ones too."""
    below: int | None
    """The highest live position below it; None: none lives."""

    @property
    def begins(self) -> int:
        """From here on positions are compared."""
        return self.lowest if self.below is None else self.below


@dataclass(frozen=True)
class Range:
    """Positions of one source partition."""

    partition: str | None
    low: int | None
    """Inclusive; None: from the first."""
    high: int | None
    """Inclusive; None: to the last."""


def partition_of(ask: Ask) -> Column:
    """The source partition as text; null where the contract names no column for it."""
    named = ask.contract.position_partition
    return F.lit(None).cast("string") if named is None else column(named).cast("string")


def within(rows: DataFrame, ask: Ask, ranges: Sequence[Range]) -> DataFrame:
    """Rows of these ranges, and of some more where they are many: what lies outside of files' bounds is not read."""
    if len(ranges) > _APART:
        lows, highs = [each.low for each in ranges], [each.high for each in ranges]
        low = None if None in lows else min(each for each in lows if each is not None)
        high = None if None in highs else max(each for each in highs if each is not None)
        return rows.where(_between(ask, Range(None, low, high)))
    return rows.where(reduce(or_, (_is_in(rows, ask, each) for each in ranges)))


def _is_in(rows: DataFrame, ask: Ask, wanted: Range) -> Column:
    named = ask.contract.position_partition
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    if named is None or not kinds.get(named, "").startswith(_PRUNED):
        return _between(ask, wanted)
    return column(named).eqNullSafe(F.lit(wanted.partition).cast(rows.schema[named].dataType)) & _between(ask, wanted)


def _between(ask: Ask, wanted: Range) -> Column:
    assert ask.contract.position is not None
    position = column(ask.contract.position)
    told = [position.isNotNull()]
    told += [] if wanted.low is None else [position >= F.lit(wanted.low)]
    told += [] if wanted.high is None else [position <= F.lit(wanted.high)]
    return reduce(and_, told)


def key_columns(ask: Ask) -> list[str]:
    """Those of the contract's key that the table has."""
    present = {each.name for each in ask.observation.table.columns}
    return [name for name in ask.contract.key if name in present]


def key_hash(names: Collection[str]) -> Column:
    """Of 64 bits; 0 without names. A hash passes nulls over, so which are null is hashed too."""
    told = [column(name) for name in names]
    return F.xxhash64(F.lit(0), *told, *(name.isNull() for name in told)) if told else F.lit(0).cast("bigint")


def moment_of(ask: Ask) -> list[str]:
    """The column that several rows made of one record share though their keys differ: the time of its event. Empty
    where none is named, and of a mere date, which other records share as well."""
    named = ask.contract.event_time
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    return [named] if named is not None and kinds.get(named, "").startswith("timestamp") else []


def not_told_apart(ask: Ask, what: str, so: str) -> NotSeen:
    """What is said where one place of the source stands for different records: `what` shows it, `so` follows."""
    named = ask.contract.position_partition
    back = went_back(ask.observation, ask.contract)
    if back is not None:
        return NotSeen(
            source="the topic of the job",
            reason=f"{what}. {back} {so}",
            remedy="Ask who changed the topic. Do not replay from it what is older: other records have these offsets.",
        )
    if named is None:
        return NotSeen(
            source="contract.position_partition",
            reason=f"{what}: the source may have several partitions, and the contract names no column that tells them "
            f"apart. {so}",
            remedy="Name the column of the source's partition as position_partition in the contract, then ask again.",
        )
    shared = "" if moment_of(ask) else " Where one record makes several rows, name event_time, which they share."
    return NotSeen(
        source="contract.position_partition",
        reason=f"{what}: the job may read several topics, and {named} does not tell their partitions apart. {so}",
        remedy="Have the job write a column that names topic and partition together, and name it as position_partition "
        f"in the contract.{shared}",
    )
