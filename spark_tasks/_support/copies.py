"""Rows that can be copies of the window's rows, read as cheaply as exactness allows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Ask
from bot.observation.ids import SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.data_files import files_of, orc_times, rows_in
from spark_tasks._support.manifest_entries import Entry
from spark_tasks._support.reading import (
    column,
    columns_at,
    fetched,
    is_small,
    operations,
    renamed,
    rows_appended,
    rows_at,
)
from spark_tasks._support.window import Reach

PARTITION = "_lies_in"


def lies_in(ask: Ask, at: SnapshotId | None = None) -> Column:
    """Of rows that are read as of the snapshot, or as they are now; null where the table has no partitions, or nobody
    can tell them; see `untold`."""
    table = ask.observation.table
    is_partitioned = any(table.specs.values()) or bool(table.partitioning)
    is_told = is_partitioned and not (at is not None and _widened(table, at))
    return (F.col("_partition").cast("string") if is_told else F.lit(None).cast("string")).alias(PARTITION)


def untold(ask: Ask, at: SnapshotId | None) -> tuple[NotSeen, ...]:
    """Why it is not known in which partitions rows lay at the snapshot."""
    names = _widened(ask.observation.table, at) if at is not None else ()
    return tuple(
        NotSeen(
            source=f"partitions of {ask.observation.table.name} as of snapshot {at}",
            reason=f"Column {name}, by which the table is partitioned, was given a wider type since, and Iceberg fails "
            "over the partitions of rows from before: whether a copy lies in another one than theirs is not known.",
            remedy="Compare the partitions of the copies with a query of your own.",
        )
        for name in names[:1]
    )


def _widened(table: TableState, at: SnapshotId) -> tuple[str, ...]:
    """Columns that partition the table and had another type then. Iceberg 1.12 reads an older state by specs of that
    time, and asks what comes of these for values of the present type (`StructInternalRow`: "Wrong class, expected
    java.lang.Long"). Main's own head is read as the table is now, see `rows_at`."""
    there = columns_at(table, at)
    if there is None or at == table.ref("main"):
        return ()
    then = {each.field_id: each.type for each in there}
    widened = {each.name for each in table.columns if then.get(each.field_id, each.type) != each.type}
    fields = (field for of_spec in table.spec_fields.values() for field in of_spec)
    return tuple(dict.fromkeys(f.column for f in fields if {f.column, f.column.split(".")[0]} & widened))


MAX_FILES = 5_000
"""In a window of more, all live rows are read instead."""


def keys_brought(spark: SparkSession, ask: Ask, reach: Reach, names: Mapping[str, str]) -> DataFrame | None:
    """Shape: `names` (alias -> the table's column); one row per row in a file that the window's commits added and that
    is live at its end, its deleted rows too.

    None where these files do not tell the key as the table does: it was renamed, or it is null in some row (a file
    from before the column was added has none, and the table may give it a default), or the files are too many, or are
    ORC files that Spark cannot read. Also where one is gone from storage: the reading of the table then says which.
    Cost: the window's manifests, and the key columns of its files.
    """
    files = _still_there(spark, ask, reach)
    table, key = ask.observation.table, ask.contract.key
    if files is None or renamed(table, key) or orc_times(table, {file.format for file in files}, key):
        return None
    told = rows_in(spark, table, files, list(names.values()))
    found = told.select(*(column(name).alias(alias) for alias, name in names.items()))
    is_null = reduce(or_, (F.col(alias).isNull() for alias in names))
    try:
        return None if found.where(is_null).limit(1).count() else found
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None


def _still_there(spark: SparkSession, ask: Ask, reach: Reach) -> list[Entry] | None:
    """Those whose last commit in the window added them; None above `MAX_FILES`. Reads the manifests now."""
    if sum(commit.counted(f"{what}-data-files") for commit in reach.main for what in ("added", "deleted")) > MAX_FILES:
        return None
    files = [file for file in files_of(spark, ask.observation.table, ask.contract, reach.main) if file.is_data]
    order = {int(commit.snapshot_id): place for place, commit in enumerate(reach.main)}
    last: dict[str, Entry] = {}
    for file in sorted(files, key=lambda file: (order[file.snapshot_id], file.is_added)):
        last[file.path] = file
    return [file for file in last.values() if file.is_added]


FILE = "_file"
IN_WINDOW = "_in_window"
CHANGED_AT = "_changed_at"
_WITH_LINEAGE = 3
_BOUNDING = ("int", "long", "date", "timestamp", "decimal", "string")
"""How the Iceberg types begin whose values stand in one order for Spark, Iceberg and the files alike. Not `uuid`, which
is text to Spark and finds nothing between two texts, nor `double`, which has NaN."""
_SPREAD = ("string", "uuid", "fixed", "binary")
"""Types of ids that may be spread over their whole range: their bounds leave out little or nothing."""
_HASHED = range(100_000, 2_000_000)
"""Rows of a window whose keys are too many for Spark to hand them to every reader of older rows, while their hashes are
not: sorting all older keys instead costs two and a half times as much. For fewer rows the hashes are one step more."""


@dataclass(frozen=True)
class Copies:
    """The window's live rows, and older live rows that may repeat them."""

    frame: DataFrame
    """Shape: `keys`, `_file`, `_in_window`, `_lies_in` (its partition as text; null where the table has none),
    `_changed_at` (see `changed_at`); one row per live row. Rows below the window that no row of the window can repeat
    are left out."""
    keys: tuple[str, ...]
    """Names of the key columns in `frame`, in the contract's order: its own could be those of our columns."""
    window_rows: int
    sources: tuple[str, ...]
    """What was read, in words."""
    older_as_of: SnapshotId
    """As of which snapshot the older rows were read, or all."""


def changed_at(table: TableState) -> Column:
    """The sequence number of the commit that wrote the row or changed it last, which it keeps through compactions and
    rewrites of its file: of format 3. Null before that, and for rows of files from before the table was upgraded."""
    if table.format_version < _WITH_LINEAGE:
        return F.lit(None).cast("bigint").alias(CHANGED_AT)
    return F.col("_last_updated_sequence_number").alias(CHANGED_AT)


def with_key_in(rows: DataFrame, wanted: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows whose key is among `wanted` (no duplicates needed); null is a value like any other."""
    renamed = wanted.select(*(F.col(key).alias(f"wanted_{key}") for key in keys))
    same = [F.col(key).eqNullSafe(F.col(f"wanted_{key}")) for key in keys]
    return rows.join(renamed, on=reduce(and_, same), how="left_semi")


def keys_at(spark: SparkSession, ask: Ask, wanted: DataFrame, at: SnapshotId) -> DataFrame:
    """Shape: the key columns as `wanted` names them (`Copies.keys`), _file; one row per row that lived at `at` and
    whose key is wanted. Cost: the key columns of the files in which these keys can lie."""
    names = {f"key_{place}": name for place, name in enumerate(ask.contract.key)}
    live = rows_at(spark, ask.observation.table, at)
    live = live.select(*(column(name).alias(alias) for alias, name in names.items()), F.col(FILE))
    narrowed, _, _ = in_range_of(ask, wanted, live, names)
    return with_key_in(narrowed, wanted.select(*names), tuple(names))


def in_range_of(
    ask: Ask, wanted: DataFrame, rows: DataFrame, names: Mapping[str, str]
) -> tuple[DataFrame, tuple[str, ...], int]:
    """(`rows` within the range that `wanted` has of each of `names`, the names that bound, how many are wanted).

    `names`: the name in both frames -> the table's column. A column that is null in some wanted row bounds nothing,
    nor does one whose type has no order that all agree on. Files whose bounds lie outside are not read.
    Cost: one aggregation over `wanted` happens here.
    """
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    ordered = [alias for alias, name in names.items() if kinds.get(name, "").startswith(_BOUNDING)]
    edges = wanted.agg(F.count("*").alias("rows"), *_edges(ordered)).first()
    assert edges is not None
    bounds = tuple(name for name in ordered if edges[f"{name}.count"] == edges["rows"] > 0)
    for name in bounds:
        kind = rows.schema[name].dataType
        low, high = (F.lit(edges[f"{name}.{end}"]).cast(kind) for end in ("low", "high"))
        rows = rows.where(F.col(name).between(low, high))
    return rows, bounds, int(edges["rows"])


def copies_of(spark: SparkSession, ask: Ask, reach: Reach, written: DataFrame) -> Copies:
    """Where the window only appends, its rows are read alone, and of older rows those that can have the same key. A
    compaction that wrote as many rows as it read is passed over.

    A copy has the same key and may differ in all else, its event time too, so nothing but the key bounds what is read:
    whole numbers and times leave out most files, ids in text often none.
    Where it also overwrites or deletes, rows are told apart by the file that they live in (`written`: one row per file
    of the window), and what bounds them is the keys that stand in these files, deleted ones too.
    Cost: one aggregation over the window's rows happens here. Where few rows lived, all are fetched, and nothing
    bounds them.
    """
    table = ask.observation.table
    names = {f"key_{place}": name for place, name in enumerate(ask.contract.key)}
    keys, is_bounded = tuple(names), not is_small(table, reach.since, reach.until)
    chosen = [*(column(name).alias(alias) for alias, name in names.items()), F.col(FILE)]
    chosen.append(changed_at(table))
    if reach.since is None or not _only_appends(reach.main):
        live = rows_at(spark, table, reach.until).select(*chosen, lies_in(ask, reach.until))
        brought = keys_brought(spark, ask, reach, names) if is_bounded and reach.since is not None else None
        return _at_the_end(spark, ask, reach, live, names, written, brought, is_fetched=not is_bounded)
    inside = rows_appended(spark, table, reach.since, reach.until).select(*chosen, lies_in(ask))
    older = rows_at(spark, table, reach.since).select(*chosen, lies_in(ask, reach.since))
    older, bounds, rows = _with_a_key_of(ask, inside, older, names) if is_bounded else (older, (), None)
    both = inside.withColumn(IN_WINDOW, F.lit(True)).unionByName(older.withColumn(IN_WINDOW, F.lit(False)))
    both = both if is_bounded else fetched(spark, both)
    return Copies(
        frame=both,
        keys=keys,
        window_rows=both.where(F.col(IN_WINDOW)).count() if rows is None else rows,
        sources=(
            "rows that the window appended",
            f"older rows{_in_range(bounds, names)}" if bounds else "all older rows",
        ),
        older_as_of=reach.since,
    )


def _only_appends(commits: Sequence[Snapshot]) -> bool:
    """Whether the rows that these commits appended are all that they changed."""
    keeps = all(keeps_rows(commit) for commit in commits if commit.operation == "replace")
    return keeps and operations(commits) - {"replace"} == {"append"}


def keeps_rows(compaction: Snapshot) -> bool:
    """Whether it says that it wrote as many rows as it read; one that names files and no rows says nothing."""
    added, removed = (compaction.counted(f"{what}-records") for what in ("added", "deleted"))
    files = sum(compaction.counted(f"{what}-data-files") for what in ("added", "deleted"))
    return added == removed and (added > 0 or files == 0)


def _with_a_key_of(
    ask: Ask, wanted: DataFrame, rows: DataFrame, names: Mapping[str, str]
) -> tuple[DataFrame, tuple[str, ...], int]:
    """(Those of `rows` whose key is one of `wanted`, the names that bound what is read, how many are wanted)."""
    keys = tuple(names)
    rows, bounds, many = in_range_of(ask, wanted, rows, names)
    if _is_spread(ask) and many in _HASHED:
        rows = _with_hash_in(rows, wanted, keys)
    return with_key_in(rows, wanted.select(*keys).distinct(), keys), bounds, many


def _at_the_end(
    spark: SparkSession,
    ask: Ask,
    reach: Reach,
    live: DataFrame,
    names: Mapping[str, str],
    written: DataFrame,
    brought: DataFrame | None,
    *,
    is_fetched: bool,
) -> Copies:
    keys, bounds = tuple(names), tuple[str, ...]()
    if brought is not None:
        live, bounds, _ = _with_a_key_of(ask, brought, live, names)
    files = F.broadcast(written.select(F.col("file_path").alias("_written")).distinct())
    marked = live.join(files, F.col(FILE) == F.col("_written"), "left").select(
        *keys, FILE, PARTITION, CHANGED_AT, F.col("_written").isNotNull().alias(IN_WINDOW)
    )
    marked = fetched(spark, marked) if is_fetched else marked
    return Copies(
        frame=marked,
        keys=keys,
        window_rows=marked.where(F.col(IN_WINDOW)).count(),
        sources=(
            f"all live rows{_in_range(bounds, names)}, because the window does more than append or begins with the "
            "table",
        ),
        older_as_of=reach.until,
    )


def _in_range(bounds: Sequence[str], names: Mapping[str, str]) -> str:
    return f" with {' and '.join(names[each] for each in bounds)} in the window's range" if bounds else ""


def _is_spread(ask: Ask) -> bool:
    """Whether no column of the key has a type whose range says much about a row."""
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    return all(kinds.get(name, "").startswith(_SPREAD) for name in ask.contract.key)


def _with_hash_in(rows: DataFrame, wanted: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Rows whose key has the hash of a wanted one, and by chance some more: without moving the others about."""
    hashes = wanted.select(F.xxhash64(*keys).alias("_wanted_hash")).distinct()
    return rows.join(F.broadcast(hashes), F.xxhash64(*keys) == F.col("_wanted_hash"), "left_semi")


def _edges(columns: Sequence[str]) -> list[Column]:
    """Lowest and highest as text: exact for every type, and free of the client's time zone."""
    return [
        told.alias(f"{name}.{end}")
        for name in columns
        for end, told in (
            ("low", F.min(name).cast("string")),
            ("high", F.max(name).cast("string")),
            ("count", F.count(name)),
        )
    ]
