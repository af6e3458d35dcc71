"""Rows near given source positions, read by the bounds of their files."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
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
