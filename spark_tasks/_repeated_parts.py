"""Which positions of a repeating commit other commits had brought before, and how many of its rows stand there."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.findings import RepeatedCommit, RepeatedPart
from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from spark_tasks._covered import Covered, Overlap, Range
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


def rows_by_bounds(commit: SnapshotId, spans: Spans, covered: Covered) -> int | None:
    """How many rows of the commit stand at these positions; None where only the rows tell: its range reaches further,
    and has not each of its positions once."""
    counts = [_rows(each, spans.get(each.partition, [])) for each in covered.positions if each.snapshot_id == commit]
    known = [count for count in counts if count is not None]
    return sum(known) if spans and len(known) == len(counts) else None


def _rows(of: Range, spans: Sequence[tuple[int, int]]) -> int | None:
    inside = sum(max(0, min(of.high, last) - max(of.low, first) + 1) for first, last in spans)
    if inside == 0:
        return 0
    return of.rows if inside == of.high - of.low + 1 else inside if of.is_dense else None


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
    spans: Mapping[SnapshotId, Spans],
) -> tuple[RepeatedCommit, ...]:
    """`repeated`, those whose rows bounds do not tell with what is read from these: none that has no row there.

    Cost: position columns of these commits, up to what `readable` allows; above, `in_parts` stays None.
    """
    asked = {each.again: spans[each.again] for each in repeated if each.in_parts is None and spans.get(each.again)}
    asked = {each: its for each, its in asked.items() if sum(map(len, its.values())) <= MOST_PARTS}
    rows = _rows_read(spark, table, contract, asked) if asked else {}
    told = (each.model_copy(update={"in_parts": rows.get(each.again, each.in_parts)}) for each in repeated)
    return tuple(each for each in told if each.in_parts != 0)


def _rows_read(
    spark: SparkSession, table: TableState, contract: TableContract, asked: Mapping[SnapshotId, Spans]
) -> dict[SnapshotId, int]:
    """Commit -> rows of it in its spans; empty where they are too many to be read, or cannot be."""
    found = readable(spark, table, contract, [table.by_id[each] for each in asked])
    if isinstance(found, str):
        return {}
    files, names, kind = found
    position, of = column(names[-1]).cast("bigint"), column(names[0]).cast("string")
    wanted = []
    for commit, spans in asked.items():
        for spelled, its in spans.items():
            is_there = F.col(COMMIT) == F.lit(int(commit))
            if len(names) > 1:
                is_there = is_there & of.eqNullSafe(F.lit(in_words(spelled, kind)))
            wanted += [is_there & position.between(first, last) for first, last in its]
    rows = rows_in(spark, table, files, names).where(reduce(or_, wanted)).groupBy(COMMIT).count()
    try:
        told = {SnapshotId(row[COMMIT]): int(row["count"]) for row in rows.limit(len(asked)).collect()}
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}
    return {each: told.get(each, 0) for each in asked}
