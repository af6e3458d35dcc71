"""Which rows of the window repeat a key that lives already, where, and do all its copies say the same?"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.file_changes import RowsOfFile
from bot.observation.findings import CopiesOfCommit, ExtraCopiesFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.sentences import counted
from spark_tasks._support.before_compaction import HIDDEN_BY, ORIGIN, WRITER, with_writers
from spark_tasks._support.copies import changed_at, copies_of, in_range_of, with_key_in
from spark_tasks._support.data_files import comparable
from spark_tasks._support.reading import added_since, column, entries, local_ids, persisted, rows_at, whole_schema
from spark_tasks._support.window import Reach, begin_of, reach_of
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, require_columns, require_key, shown
from spark_tasks.duplicate_rows import repeated_keys

FILE, PLACE = "_file", "_pos"
"""Iceberg's names of a row's file and of its place in it, from 0."""


def placed_of(rows: DataFrame, order: DataFrame, keys: Sequence[str], begins: int) -> DataFrame:
    """`rows` (as of `with_writers`) with snapshot_id (null: written below the window, or hidden by a compaction), age
    (rising with the commits; null below the window) and is_hidden; without keys that only rows below the window have.

    `order` has one row per snapshot; the window's commits have a place above `begins`.
    """
    known = order.select(F.col("snapshot_id").alias("_listed"), F.col("place"))
    by = F.coalesce(HIDDEN_BY, WRITER)
    inside = F.col("place") > begins
    placed = rows.join(F.broadcast(known), by == F.col("_listed"), "left").withColumns(
        {
            "snapshot_id": F.when(inside, F.col(WRITER)),
            "age": F.when(inside, F.col("place")),
            "is_hidden": F.col(HIDDEN_BY).isNotNull() & inside,
        }
    )
    newest = F.max("age").over(Window.partitionBy(*keys))
    kept = placed.withColumn("_newest", newest).where("_newest IS NOT NULL")
    return kept.drop("_newest", "_listed", "place", ORIGIN, WRITER, HIDDEN_BY)


def standing_of(placed: DataFrame, keys: Sequence[str], keep: str) -> DataFrame:
    """`placed` (as of `placed_of`) with is_extra. Where `oldest` is kept: an older copy of its key lives, and the
    window wrote this one; where `newest`: a newer one lives, wherever this one was written. Among copies of one commit,
    the first by file and place is the oldest; one that a compaction hides is as old as the compaction."""
    by_age = (F.coalesce("age", F.lit(-1)), F.col(FILE), F.col(PLACE))
    is_newest = keep == "newest"
    kept_first = Window.partitionBy(*keys).orderBy(*(each.desc() if is_newest else each.asc() for each in by_age))
    ranked = placed.withColumn("turn", F.row_number().over(kept_first))
    may_go = F.lit(True) if is_newest else F.col("age").isNotNull()
    return ranked.withColumn("is_extra", (F.col("turn") > 1) & may_go).drop("turn", "age")


def extra_of(standing: DataFrame) -> DataFrame:
    """Shape: _file, _pos, snapshot_id, is_hidden; one row per extra copy."""
    return standing.where("is_extra").select(FILE, PLACE, "snapshot_id", "is_hidden")


def named_twice(standing: DataFrame) -> int:
    """How many places are read more than once, because the table names their file more than once. Reads now."""
    return standing.groupBy(FILE, PLACE).count().where("count > 1").count()


def spans_of(extra: DataFrame) -> DataFrame:
    """Shape: _file, first, last (bigint, both inclusive): each unbroken run of places; by file and place."""
    in_file = Window.partitionBy(FILE).orderBy(PLACE)
    numbered = extra.withColumn("run", F.col(PLACE) - F.row_number().over(in_file))
    runs = numbered.groupBy(FILE, "run").agg(F.min(PLACE).alias("first"), F.max(PLACE).alias("last"))
    return runs.select(FILE, "first", "last").orderBy(FILE, "first")


TASK = Task(
    name="extra_copies",
    title="Extra copies",
    question="Which rows of the window repeat an older row, and are all their copies equal?",
    confirmed_means="some rows of the window are extra copies; the answer says where they are",
    ruled_out_means="no row of the window is an extra copy",
    needs=("table", "contract.key"),
    version=2,
    cost="as duplicate_rows; then all columns of the files in which a repeated key can lie",
)
MAX_SPANS = 5_000
"""Runs of rows that are listed; rows that are more scattered are no replay."""
MAX_COMMITS = 500


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Of each key one copy stays, by the table's rule: the oldest, and every other one that the window's commits wrote
    is extra; or the newest, and every other one is.

    Equal are copies that agree in every column that the rule does not ignore, by a hash of 64 bits a column.
    """
    require_key(ask)
    require_columns(ask, *ask.copies.ignore)
    reach = reach_of(ask)
    if not reach.main:
        return _none(reach, "No commit in the window, so it brought no copy.", ())
    written = entries(spark, reach.main).where("status = 1 AND content = 0").select("file_path", "snapshot_id")
    copies = copies_of(spark, ask, reach, written)
    with persisted(repeated_keys(copies.frame, copies.keys).drop("copies")) as repeated:
        is_none = repeated.limit(1).count() == 0
        if is_none and (added := added_since(ask.observation.table, begin_of(reach), ask.contract.key)):
            raise Inconclusive(*added)
        if is_none:
            return _none(reach, "No key of the window lives more than once.", copies.sources)
        table, rows_then = ask.observation.table, partial(_rows, spark, ask, repeated)
        same, named = (*copies.keys, "hashes"), _first_named(spark, ask, written)
        order, begins = local_ids(spark, [s.snapshot_id for s in table.snapshots]), table.place_of(reach.since)
        with (
            persisted(with_writers(spark, table, rows_then(reach.until), same, named, rows_then)) as written_by,
            persisted(
                standing_of(placed_of(written_by, order, copies.keys, begins), copies.keys, ask.copies.keep)
            ) as standing,
        ):
            if standing.limit(1).count() == 0:
                return _none(reach, "Compactions of the window only rewrote older copies.", copies.sources)
            return _told(ask, reach, standing, copies.keys, copies.sources)


def _rows(spark: SparkSession, ask: Ask, repeated: DataFrame, at: SnapshotId) -> DataFrame:
    """Shape: the key, _file, _pos, hashes (array of bigint, one a column beside the key); one row per row that lived at
    `at` and whose key is repeated."""
    keys = repeated.columns
    kinds = {field.name: field.dataType for field in whole_schema(spark, ask.observation.table).fields}
    told = [comparable(name, kinds[name]) for name in _others(ask)]
    chosen = [
        *(column(name).alias(alias) for alias, name in zip(keys, ask.contract.key, strict=True)),
        F.col(FILE),
        F.col(PLACE),
        changed_at(ask.observation.table),
        F.array(*(_hash(each) for each in told)).cast("array<bigint>").alias("hashes"),
    ]
    live = rows_at(spark, ask.observation.table, at).select(*chosen)
    narrowed, _, _ = in_range_of(ask, repeated, live, dict(zip(keys, ask.contract.key, strict=True)))
    return with_key_in(narrowed, repeated, keys)


def _first_named(spark: SparkSession, ask: Ask, written: DataFrame) -> DataFrame:
    """Shape: file_path, snapshot_id (the oldest listed commit that names it); one row per file of the window."""
    order = local_ids(spark, [s.snapshot_id for s in ask.observation.table.snapshots])
    named = written.join(F.broadcast(order), on="snapshot_id", how="inner")
    first = F.min(F.struct("place", "snapshot_id")).alias("first")
    return named.groupBy("file_path").agg(first).select("file_path", F.col("first.snapshot_id").alias("snapshot_id"))


def _hash(value: Column) -> Column:
    """A hash passes null over, so whether it is null is hashed too."""
    return F.xxhash64(F.lit(0), value, value.isNull())


def _others(ask: Ask) -> list[str]:
    """Columns in which copies of a key must be equal."""
    passed_over = (*ask.contract.key, *ask.copies.ignore)
    return [each.name for each in ask.observation.table.columns if each.name not in passed_over]


def _told(ask: Ask, reach: Reach, standing: DataFrame, keys: Sequence[str], sources: tuple[str, ...]) -> Answer:
    extra = extra_of(standing)
    commits = (
        extra.where("snapshot_id IS NOT NULL")
        .groupBy("snapshot_id")
        .agg(F.count("*").alias("rows"))
        .orderBy(F.desc("rows"), "snapshot_id")
    )
    brought = commits.limit(MAX_COMMITS).collect()
    unnamed = extra.where("snapshot_id IS NULL")
    others = unnamed.agg(F.count_if("is_hidden").alias("hidden"), F.count("*").alias("rows")).first()
    assert others is not None
    by_key = standing.groupBy(*keys).agg(
        F.count_if("is_extra").alias("extra"), _differing(len(_others(ask))).alias("differs")
    )
    sums = [F.count_if(F.col("differs")[place]) for place in range(len(_others(ask)))]
    total = by_key.agg(
        F.count("*").alias("keys"),
        F.sum("extra").alias("rows"),
        F.count_if(F.exists("differs", lambda each: each)).alias("differing"),
        F.array(*sums).cast("array<bigint>").alias("columns"),
    ).first()
    assert total is not None
    sample = by_key.orderBy(F.desc("extra"), *keys).limit(MAX_ROWS).collect()
    spans = spans_of(extra).limit(MAX_SPANS + 1).collect()
    is_whole = len(spans) <= MAX_SPANS
    finding = ExtraCopiesFinding(
        at=reach.until,
        keys=int(total["keys"]),
        rows=int(total["rows"]),
        commits=tuple(CopiesOfCommit(snapshot_id=SnapshotId(b["snapshot_id"]), rows=b["rows"]) for b in brought),
        differing=int(total["differing"]),
        columns={name: int(n) for name, n in zip(_others(ask), total["columns"], strict=True) if n},
        twice_named=named_twice(standing),
        places=_places(spans) if is_whole else (),
        is_whole=is_whole,
        rule=ask.copies,
        below=int(others["rows"] - others["hidden"]),
        hidden=int(others["hidden"]),
    )
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=_headline(finding),
        measures=(
            Measure(name="extra copies", value=finding.rows, unit="rows"),
            Measure(name="keys with an extra copy", value=finding.keys, unit="keys"),
            Measure(name="keys whose copies differ", value=finding.differing, unit="keys"),
        ),
        columns=(*ask.contract.key, "extra copies", "copies differ in"),
        rows=tuple(_row(ask, keys, row) for row in sample),
        finding=finding,
        sources=(*sources, "all columns of the rows whose key is repeated"),
    )


def _differing(columns: int) -> Column:
    """Array of boolean, one a column beside the key: whether a key's copies differ in it."""
    hashes = (F.col("hashes")[place] for place in range(columns))
    return F.array(*(F.min(each) != F.max(each) for each in hashes)).cast("array<boolean>")


def _places(spans: Sequence[Row]) -> tuple[RowsOfFile, ...]:
    found: dict[str, list[tuple[int, int]]] = {}
    for span in spans:
        found.setdefault(span[FILE], []).append((span["first"], span["last"]))
    return tuple(RowsOfFile(path=path, spans=tuple(each)) for path, each in found.items())


def _row(ask: Ask, keys: Sequence[str], row: Row) -> tuple[str, ...]:
    names = zip(ask.contract.key, keys, strict=True)
    values = (shown(name, row[key], ask.contract) for name, key in names)
    differing = [name for name, differs in zip(_others(ask), row["differs"], strict=True) if differs]
    return (*values, str(row["extra"]), ", ".join(differing) or "nothing")


def _headline(finding: ExtraCopiesFinding) -> str:
    if finding.below:
        brought = f"{counted(finding.rows, 'row')} are older copies of a key that the window wrote again"
    elif finding.rows == 1:
        brought = "1 row of the window repeats a key that lives already"
    else:
        brought = f"{counted(finding.rows, 'row')} of the window repeat a key that lives already"
    if finding.commits:
        brought += f", most of them by commit {short(finding.commits[0].snapshot_id)}"
    if finding.hidden:
        brought += f" (a compaction hides who wrote {counted(finding.hidden, 'row')} of them)"
    same = f"all copies of a key are equal{finding.rule.but}"
    if finding.differing:
        same = f"the copies of {counted(finding.differing, 'key')} differ, in {', '.join(finding.columns)}"
    return f"{brought}; {same}."


def _none(reach: Reach, headline: str, sources: tuple[str, ...]) -> Answer:
    finding = ExtraCopiesFinding(
        at=reach.until, keys=0, rows=0, commits=(), differing=0, columns={}, twice_named=0, places=()
    )
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        measures=(Measure(name="extra copies", value=0, unit="rows"),),
        finding=finding,
        sources=sources,
    )
