"""Which positions of a repeating commit other commits had brought before, and how many of its rows stand there."""

from collections.abc import Iterable, Mapping, Sequence, Set

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.findings import RepeatedCommit, RepeatedPart
from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from spark_tasks._covered import Covered, Overlap
from spark_tasks._data_files import COMMIT, rows_in
from spark_tasks._reading import column
from spark_tasks._source_partition import in_words
from spark_tasks._source_ranges import source_columns
from spark_tasks._unstated import readable

Spans = dict[str, list[tuple[int, int]]]
"""Source partition, as `_source_partition` spells it -> positions, both ends inclusive, rising and apart."""
MOST_PARTS = 100


def spans_of(overlaps: Iterable[Overlap]) -> Spans:
    """What these overlaps cover together; those by event time cover no position."""
    found: Spans = {}
    for each in sorted((o for o in overlaps if o.is_of_positions), key=lambda o: (o.partition, o.low)):
        spans, last = found.setdefault(each.partition, []), each.low + each.size - 1
        if spans and each.low <= spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], max(spans[-1][1], last))
        else:
            spans.append((each.low, last))
    return found


def rows_by_bounds(overlaps: Sequence[Overlap], covered: Covered) -> int | None:
    """How many rows of a commit stand at the positions of its overlaps; None where only the rows tell: a range that
    takes part has not each of its positions once, as where the job filters, or the contract does not tell source
    partitions apart."""
    ranges = {(each.snapshot_id, each.partition): each for each in covered.positions}
    sides = ((each.one, each.other, each.partition) for each in overlaps)
    parts = [ranges.get((side, of)) for one, other, of in sides for side in (one, other)]
    if not overlaps or not all(each is not None and each.is_dense for each in parts):
        return None
    return sum(last - first + 1 for spans in spans_of(overlaps).values() for first, last in spans)


def parts_in_words(spans: Spans, table: TableState, contract: TableContract) -> tuple[RepeatedPart, ...]:
    """At most `MOST_PARTS`; none where the contract hides the position."""
    position, _, of = source_columns(table, contract)
    if position is None or contract.hides(position.name):
        return ()
    parts = []
    for spelled, each in spans.items():
        partition = in_words(spelled, of.type) if of is not None else None
        shown = partition if of is None or partition is None else contract.shown(of.name, partition)
        parts += [RepeatedPart(partition=shown, first=first, last=last) for first, last in each]
    return tuple(parts[:MOST_PARTS])


def counted_in_parts(
    spark: SparkSession,
    table: TableState,
    contract: TableContract,
    repeated: Sequence[RepeatedCommit],
    overlaps: Mapping[SnapshotId, Sequence[Overlap]],
) -> tuple[RepeatedCommit, ...]:
    """`repeated`, those whose rows bounds do not tell with what is read from these: none that has no row there.

    Cost: position columns of these commits, and of those that they repeat, up to what `readable` allows; above,
    `in_parts` stays None.
    """
    asked = [each.again for each in repeated if each.in_parts is None and spans_of(overlaps.get(each.again, ()))]
    pairs = {(again, side) for again in asked for each in overlaps[again] for side in (each.one, each.other)}
    rows = _rows_read(spark, table, contract, {pair for pair in pairs if pair[0] != pair[1]}) if asked else {}
    told = (each.model_copy(update={"in_parts": rows.get(each.again, each.in_parts)}) for each in repeated)
    return tuple(each for each in told if each.in_parts != 0)


def _rows_read(
    spark: SparkSession, table: TableState, contract: TableContract, pairs: Set[tuple[SnapshotId, SnapshotId]]
) -> dict[SnapshotId, int]:
    """Commit -> rows of it at a position that one of those which it is paired with has too; empty where they are too
    many to be read, or cannot be."""
    found = readable(
        spark, table, contract, [table.by_id[each] for each in sorted({s for pair in pairs for s in pair})]
    )
    if isinstance(found, str):
        return {}
    files, names, _ = found
    of = column(names[0]).cast("string") if len(names) > 1 else F.lit(None).cast("string")
    position = column(names[-1]).cast("bigint")
    rows = rows_in(spark, table, files, names).select(COMMIT, of.alias("of"), position.alias("at"))
    told = spark.createDataFrame([(int(again), int(first)) for again, first in pairs], "again bigint, first bigint")
    before = rows.join(F.broadcast(told), on=F.col(COMMIT) == F.col("first"), how="inner")
    before = before.select("again", F.col("of").alias("of_first"), F.col("at").alias("at_first"))
    same = (F.col(COMMIT) == F.col("again")) & (F.col("at") == F.col("at_first"))
    both = rows.join(before, on=same & F.col("of").eqNullSafe(F.col("of_first")), how="left_semi")
    again = {again for again, _ in pairs}
    try:
        found_rows = both.groupBy(COMMIT).count().limit(len(again)).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}
    counts = {row[COMMIT]: int(row["count"]) for row in found_rows}
    return {each: counts.get(int(each), 0) for each in again}
