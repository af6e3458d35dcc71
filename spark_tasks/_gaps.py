"""Gaps between positions, counted: those where something is missing for sure, and those that leave it open."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from spark_tasks._words import MAX_ROWS


@dataclass(frozen=True)
class Gaps:
    missing: int
    """Positions of those that are sure."""
    untold: int
    """Positions of the others."""
    count: int
    """How many are sure; where none is, how many are not."""
    first: tuple[Row, ...]
    """Of these the first, by partition and position: partition, first, last; at most `MAX_ROWS`."""
    first_untold: tuple[Row, ...]
    """The first of those that are not sure; at most one."""


def counted_gaps(gaps: DataFrame) -> Gaps:
    """`gaps`: partition, first, last, size, is_sure; one row per gap. Reads."""
    kept = gaps.persist()
    try:
        by_kind = kept.groupBy("is_sure").agg(F.count("*").alias("gaps"), F.sum("size").alias("positions"))
        told = {row["is_sure"]: row for row in by_kind.limit(2).collect()}
        first = {
            is_sure: tuple(kept.where(F.col("is_sure") == is_sure).orderBy("partition", "first").limit(most).collect())
            for is_sure, most in ((True, MAX_ROWS), (False, MAX_ROWS if True not in told else 1))
            if is_sure in told
        }
    finally:
        kept.unpersist()
    return Gaps(
        missing=int(told[True]["positions"]) if True in told else 0,
        untold=int(told[False]["positions"]) if False in told else 0,
        count=int(told.get(True, told.get(False, {"gaps": 0}))["gaps"]),
        first=first.get(True, first.get(False, ())),
        first_untold=first.get(False, ())[:1],
    )
