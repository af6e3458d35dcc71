"""Which keys have other values at the window's end than where it begins, and did compactions keep their rows?"""

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.other_writers import leaves_rows_open
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import CompactedRows, CorrectedRowsFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.copies import in_range_of, with_key_in
from spark_tasks._support.data_files import comparable, files_of, rows_in
from spark_tasks._support.manifest_entries import Entry
from spark_tasks._support.reading import column, names_at, persisted, require_readable, rows_at, whole_schema
from spark_tasks._support.storage import exact
from spark_tasks._support.window import Reach, cut_off, reach_of
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, inconclusive, require_key, shown

_POSITION_DELETES = "file_path string"
POSITIONS, EQUALITY = 1, 2
"""Contents of delete files."""


def key_names(ask: Ask) -> list[str]:
    """Names of the key columns in our frames: the contract's own could be those of our columns."""
    return [f"key_{place}" for place in range(len(ask.contract.key))]


def touched_keys(spark: SparkSession, ask: Ask, files: Sequence[Entry]) -> DataFrame:
    """Shape: the key columns, no duplicates; every key whose rows the window can have changed, and some more.

    They stand in data files that came or went, in data files from which rows were deleted by position, and in
    equality deletes. Raises Inconclusive where an equality delete names other columns than the key.
    """
    key, table = list(ask.contract.key), ask.observation.table
    data = [file for file in files if file.is_data]
    by_equality = [file for file in files if file.content == EQUALITY and file.is_added]
    data += _deleted_from(spark, [f for f in files if f.content == POSITIONS and f.is_added], data)
    names = [column(name).alias(alias) for name, alias in zip(key, key_names(ask), strict=True)]
    found = rows_in(spark, table, data, key).select(*names)
    if by_equality:
        deleted = rows_in(spark, table, by_equality, key).select(*names)
        has_null = reduce(or_, (F.col(name).isNull() for name in key_names(ask)))
        if deleted.where(has_null).limit(1).count():
            raise inconclusive(
                source=f"equality deletes of {table.name}",
                reason=f"Equality deletes do not name the key ({', '.join(key)}).",
                remedy="Let the contract's key be the equality columns of the Flink sink.",
            )
        found = found.unionByName(deleted)
    return found.distinct()


def states_of(
    spark: SparkSession, ask: Ask, at: SnapshotId, touched: DataFrame, values: Sequence[str], side: str
) -> DataFrame:
    """Shape: the key columns, then `{side}_rows` and for the n-th of `values` `{side}_n` (its values as one struct of
    lowest, highest and whether any is null); one row per touched key that lives at `at`.

    Cost: all columns of the files in which the range of the touched keys lies.
    """
    keys = key_names(ask)
    names = [column(name).alias(alias) for name, alias in zip(ask.contract.key, keys, strict=True)]
    kinds = {field.name: field.dataType for field in whole_schema(spark, ask.observation.table).fields}
    chosen = [comparable(name, kinds[name]).alias(f"value_{place}") for place, name in enumerate(values)]
    live = rows_at(spark, ask.observation.table, at).select(*names, *chosen)
    narrowed, _, _ = in_range_of(ask, touched, live, dict(zip(keys, ask.contract.key, strict=True)))
    told = [_told(f"value_{place}").alias(f"{side}_{place}") for place in range(len(values))]
    return with_key_in(narrowed, touched, keys).groupBy(*keys).agg(F.count("*").alias(f"{side}_rows"), *told)


def _told(value: str) -> Column:
    return F.struct(
        F.min(value).alias("lowest"), F.max(value).alias("highest"), F.bool_or(F.col(value).isNull()).alias("has_null")
    )


def _deleted_from(spark: SparkSession, deletes: Sequence[Entry], known: Sequence[Entry]) -> list[Entry]:
    """The data files from which rows were deleted by position, as files to be read; those that are known left out."""
    named = {file.of_file for file in deletes if file.of_file is not None}
    unnamed = [file for file in deletes if file.of_file is None and file.format != "puffin"]
    for format_ in {file.format for file in unnamed}:
        paths = [file.path for file in unnamed if file.format == format_]
        read = spark.read.format(format_).schema(_POSITION_DELETES).load([exact(path) for path in paths]).distinct()
        named |= {row["file_path"] for row in read.limit(len(known) + 20_000).collect()}
    there = {file.path for file in known}
    return [
        Entry(deletes[0].snapshot_id, 2, 0, path, rows=0, spec_id=0, format=path.rsplit(".", 1)[-1].lower())
        for path in sorted(named - there)
    ]


def compared(spark: SparkSession, ask: Ask, commits: Iterable[Snapshot]) -> tuple[CompactedRows, ...]:
    """Each of these commits that is a compaction whose counters leave open whether it kept its rows, oldest first.

    One whose parent is not listed is left out: nobody can compare it. Cost: the key of the files that it removed and
    wrote, and of the rows in their range before and after it.
    """
    table = ask.observation.table
    told: list[CompactedRows] = []
    for commit in commits:
        parent = table.by_id.get(commit.parent_id) if commit.parent_id is not None else None
        if parent is None or not leaves_rows_open(table, commit):
            continue
        told.append(CompactedRows(snapshot_id=commit.snapshot_id, lost=_lost(spark, ask, parent.snapshot_id, commit)))
    return tuple(told)


def losses(compactions: Iterable[CompactedRows]) -> str:
    """Those that lost rows, as the end of a sentence: `; compaction …123456 lost 50 rows`. Empty: none did."""
    said = (f"; compaction {short(each.snapshot_id)} lost {each.lost:,} rows" for each in compactions if each.lost)
    return "".join(said)


def _lost(spark: SparkSession, ask: Ask, parent: SnapshotId, compaction: Snapshot) -> int:
    """Rows of keys that live in fewer rows after it than before."""
    keys, files = key_names(ask), files_of(spark, ask.observation.table, ask.contract, [compaction])
    with persisted(touched_keys(spark, ask, files)) as kept:
        before = states_of(spark, ask, parent, kept, (), "before")
        after = states_of(spark, ask, compaction.snapshot_id, kept, (), "after")
        ended = after.select(*(F.col(key).alias(f"{key}_after") for key in keys), "after_rows")
        same = F.lit(True)
        for key in keys:
            same = same & F.col(key).eqNullSafe(F.col(f"{key}_after"))
        missing = F.greatest(F.col("before_rows") - F.coalesce("after_rows", F.lit(0)), F.lit(0))
        found = before.join(ended, on=same, how="left").agg(F.sum(missing).alias("lost")).first()
    return int(found["lost"] or 0) if found is not None else 0


TASK = Task(
    name="corrected_rows",
    title="Corrected rows",
    question="Which keys changed their values in the window, and which keys are gone?",
    confirmed_means="some key was changed or is gone, or a compaction lost rows",
    ruled_out_means="no older key was changed or removed",
    needs=("table", "contract.key"),
    version=2,
    cost="keys of the files that the window added, removed or deleted from; all columns of older rows in their range",
)


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Two states are compared, not two logs: what was changed and changed back does not count.

    Only keys that the window's files can have touched are read. A key with several rows has changed when the lowest,
    the highest or the null among its values did. Compactions are passed over, but for those whose counters leave open
    whether they kept their rows: their keys are compared right before and after. Columns that were added since are
    passed over, too.
    """
    require_key(ask)
    reach = reach_of(ask)
    if gone := cut_off(ask, reach):
        raise Inconclusive(*gone)
    key = ask.contract.key
    require_readable(ask.observation.table, key)
    compactions = compared(spark, ask, reach.main)
    lossy = {each.snapshot_id for each in compactions if each.lost}
    commits = [commit for commit in reach.main if commit.operation != "replace" or commit.snapshot_id in lossy]
    if not commits or reach.since is None:
        return _none("Nothing lived where the window begins, so nothing can have been corrected"
                     if commits else "No commit of the window changed a row", compactions)  # fmt: skip
    values = [name for name in names_at(ask.observation.table, reach.since) if name not in key]
    with persisted(touched_keys(spark, ask, files_of(spark, ask.observation.table, ask.contract, commits))) as kept:
        return _compared(spark, ask, reach, kept, values, compactions)


def changes(before: DataFrame, after: DataFrame, keys: Sequence[str], count: int) -> DataFrame:
    """Shape: the keys, is_gone (boolean), changed (array of the places of changed values); one row per key that was
    there before and is changed or gone. Both sides have one row per key."""
    ended = after.select(*(F.col(key).alias(f"{key}_after") for key in keys), "after_rows", *_sides("after", count))
    same = F.lit(True)
    for key in keys:
        same = same & F.col(key).eqNullSafe(F.col(f"{key}_after"))
    both = before.join(ended, on=same, how="left")
    differ = [
        F.when(~F.col(f"before_{n}").eqNullSafe(F.col(f"after_{n}")), F.lit(n)) for n in range(count)
    ]  # fmt: skip
    is_gone = F.col("after_rows").isNull()
    changed = F.array_compact(F.array(*differ)) if differ else F.array().cast("array<int>")
    told = both.select(*keys, is_gone.alias("is_gone"), changed.alias("changed"))
    return told.where(F.col("is_gone") | (F.size("changed") > 0))


def _sides(side: str, count: int) -> list[str]:
    return [f"{side}_{place}" for place in range(count)]


def _compared(
    spark: SparkSession,
    ask: Ask,
    reach: Reach,
    touched: DataFrame,
    values: Sequence[str],
    compactions: tuple[CompactedRows, ...],
) -> Answer:
    assert reach.since is not None
    keys = key_names(ask)
    before = states_of(spark, ask, reach.since, touched, values, "before")
    after = states_of(spark, ask, reach.until, touched, values, "after")
    with persisted(changes(before, after, keys, len(values))) as found:
        total = found.agg(F.count_if(~F.col("is_gone")).alias("keys"), F.count_if("is_gone").alias("gone")).first()
        assert total is not None
        places = found.where("NOT is_gone").select(F.explode("changed").alias("place")).groupBy("place").count()
        by_column = {values[row["place"]]: int(row["count"]) for row in places.limit(len(values)).collect()}
        sample = found.orderBy("is_gone", *keys).limit(MAX_ROWS).collect()
    finding = CorrectedRowsFinding(
        keys=int(total["keys"]),
        gone=int(total["gone"]),
        columns=dict(sorted(by_column.items(), key=lambda each: (-each[1], each[0]))),
        compactions=compactions,
    )
    return Answer(
        verdict=Verdict.CONFIRMED if finding.keys or finding.gone or losses(compactions) else Verdict.RULED_OUT,
        headline=_headline(finding),
        measures=_measures(finding),
        columns=(*ask.contract.key, "what happened", "changed columns"),
        rows=tuple(_row(ask, row, values) for row in sample),
        finding=finding,
        sources=("keys in the window's files", "rows with these keys where the window begins, and at its end"),
    )


def _headline(finding: CorrectedRowsFinding) -> str:
    lost = losses(finding.compactions)
    if not finding.keys and not finding.gone and not lost:
        return "Every key that lived where the window begins has the same values at its end."
    most = ", ".join(f"{name} in {number:,}" for name, number in list(finding.columns.items())[:4])
    changed = f"{counted(finding.keys, 'key')} changed ({most})" if finding.keys else "No key changed"
    gone = f"; {counted(finding.gone, 'key')} {'is' if finding.gone == 1 else 'are'} gone" if finding.gone else ""
    return f"{changed}{gone} between the window's beginning and its end{lost}."


def _row(ask: Ask, row: Row, values: Sequence[str]) -> tuple[str, ...]:
    told = (shown(name, row[alias], ask.contract) for name, alias in zip(ask.contract.key, key_names(ask), strict=True))
    changed = ", ".join(values[place] for place in row["changed"])
    return (*told, *(("gone", "") if row["is_gone"] else ("changed", changed)))


def _measures(finding: CorrectedRowsFinding) -> tuple[Measure, ...]:
    return (
        Measure(name="changed keys", value=finding.keys, unit="keys"),
        Measure(name="keys that are gone", value=finding.gone, unit="keys"),
    )


def _none(headline: str, compactions: tuple[CompactedRows, ...]) -> Answer:
    finding = CorrectedRowsFinding(keys=0, gone=0, columns={}, compactions=compactions)
    lost = losses(compactions)
    return Answer(
        verdict=Verdict.CONFIRMED if lost else Verdict.RULED_OUT,
        headline=f"{headline}{lost}.",
        measures=_measures(finding),
        finding=finding,
    )
