"""Do table, contract, the job's state and its files agree about the columns?"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.incident.contract_terms import (
    ABSENT,
    PARTITIONING,
    changes_between,
    contract_differences,
    dropped_since,
    in_words,
    lacking_in,
    state_differences,
)
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import SchemaDifference, SchemaDriftFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.record import Record
from bot.observation.sentences import counted
from bot.observation.table import Column as TableColumn
from bot.observation.table import Snapshot, TableState
from bot.observation.written import WrittenSchema, as_said
from spark_tasks._support.event_time import newest_with_rows
from spark_tasks._support.reading import entries
from spark_tasks._support.window import Reach, cut_off, reach_of
from spark_tasks._support.words import MAX_ROWS, answers

_COUNTS = dict.fromkeys(
    ("null_value_counts", "value_counts", "column_sizes"), "array<struct<key: int, value: bigint>>"
)  # fmt: skip


class Filling(Record):
    """How the data files of some commits fill one column."""

    column: TableColumn
    files: int
    rows: int
    without: int
    """Files that leave it null in every row, or do not have it."""
    untold: int
    """Files that have it and keep no counts of it."""
    nulls: int
    """Rows in which it is null, as far as told."""


def fillings(
    spark: SparkSession, commits: Sequence[Snapshot], columns: Sequence[TableColumn]
) -> tuple[Filling, ...]:  # fmt: skip
    """One for each column, over the data files that these commits added. Cost: their manifests."""
    if not commits or not columns:
        return tuple(Filling(column=c, files=0, rows=0, without=0, untold=0, nulls=0) for c in columns)
    files = entries(spark, commits, more=_COUNTS).where("status = 1 AND content = 0 AND record_count > 0")
    told = _counted(files, columns).first()
    assert told is not None
    return tuple(
        Filling(
            column=each,
            files=int(told["files"]),
            rows=int(told["rows"] or 0),
            without=int(told[f"without_{each.field_id}"]),
            untold=int(told[f"untold_{each.field_id}"]),
            nulls=int(told[f"nulls_{each.field_id}"] or 0),
        )
        for each in columns
    )


def _counted(files: DataFrame, columns: Sequence[TableColumn]) -> DataFrame:
    """Shape: files, rows, then without_i, untold_i, nulls_i for each field id; one row.

    A file has a column when any of its counts names it. A nested column is named by its leaves only and is not told.
    """
    told: list[Column] = [F.count("*").alias("files"), F.sum("record_count").alias("rows")]
    for each in columns:
        nulls = _of("null_value_counts", each)
        is_there = nulls.isNotNull() | _of("value_counts", each).isNotNull() | _of("column_sizes", each).isNotNull()
        keeps_counts = F.coalesce(F.size(F.coalesce("column_sizes", "value_counts")), F.lit(0)) > 0
        is_lacking = ~is_there & keeps_counts
        is_null = is_lacking | (nulls == F.col("record_count"))
        told += [
            F.count_if(F.coalesce(is_null, F.lit(False))).alias(f"without_{each.field_id}"),
            F.count_if(~is_lacking & nulls.isNull()).alias(f"untold_{each.field_id}"),
            F.sum(F.when(is_lacking, F.col("record_count")).otherwise(nulls)).alias(f"nulls_{each.field_id}"),
        ]
    return files.agg(*told)


def _of(counts: str, column: TableColumn) -> Column:
    return F.get(F.filter(counts, lambda entry: entry["key"] == column.field_id), F.lit(0))["value"]


TASK = Task(
    name="schema_drift",
    title="Schema drift",
    question="Do the table's columns agree with the contract, with its history, and with what the job writes?",
    confirmed_means="the table, its contract, the job's state or its files disagree about a column or the partitioning",
    ruled_out_means="table, contract, state and files agree",
    needs=("table",),
    cost="metadata, manifests of the window and of one commit below it, and the footer of one data file",
    reads="metadata",
    version=3,
)
_NULL_EVERYWHERE = "null or missing in every file"


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """What Flink's files of the window fill is told by their null counts, only for columns that were added after the
    table was made, and for those that the contract requires; where the table requires them too, it holds no null. A
    file is asked for a column only if its commit's own schema has it.
    """
    reach = reach_of(ask)
    table = ask.observation.table
    flinks = [commit for commit in reach.main if commit.job_id is not None]
    added = [f for column in _added(table) for f in fillings(spark, _under(table, flinks, column), [column])]
    unfilled = [f for f in added if f.files and f.without == f.files]
    untold = [f for f in added if f.untold and f.without + f.untold == f.files]
    required = [f for column in _required(ask) for f in fillings(spark, _under(table, flinks, column), [column])]
    nulls = [filling for filling in required if filling.nulls]
    uncounted = [filling for filling in required if filling.untold and not filling.column.is_required]
    written = ask.observation.written
    of_files = _partitioning(spark, table, reach, flinks)
    differences = (
        *_of_state(written.values, table, of_files),
        *contract_differences(table.columns, ask.contract),
        *(_not_null(filling) for filling in nulls),
        *(_not_filled(filling) for filling in unfilled),
        *changes_between(_earlier(table, reach), table.columns),
        *of_files,
    )
    finding = SchemaDriftFinding(
        differences=differences,
        all_null=tuple(filling.column.name for filling in unfilled),
        untold=tuple(filling.column.name for filling in untold),
        added_at=_added_at(table, reach),
        state_run=next((each.job_id for each in written.values), None),
        not_in_state=tuple(name for each in written.values for name in lacking_in(each, table)),
        not_in_table=tuple(name for each in written.values for name in dropped_since(each, table)),
    )
    unseen = (written,) if isinstance(written, NotSeen) else ()
    return _told(ask, finding, (*map(_no_counts, untold), *map(_not_counted, uncounted), *cut_off(ask, reach), *unseen))


def _of_state(
    written: Sequence[WrittenSchema], table: TableState, of_files: Sequence[SchemaDifference]
) -> tuple[SchemaDifference, ...]:
    """What the state says and the files of the window do not tell already."""
    told = {(each.column, each.found, each.expected) for each in of_files if each.between == ("table", "files")}
    found = (difference for each in written for difference in state_differences(each, table))
    return tuple(each for each in found if (each.column, each.expected, each.found) not in told)


def _added(table: TableState) -> list[TableColumn]:
    """Columns that the table's first schema did not have."""
    if not table.schemas:
        return []
    first = {column.field_id for column in table.schemas[min(table.schemas)]}
    return [column for column in table.columns if column.field_id not in first]


def _required(ask: Ask) -> list[TableColumn]:
    wanted = {column.name for column in ask.contract.columns if column.required}
    return [column for column in ask.observation.table.columns if column.name in wanted]


def _under(table: TableState, commits: Sequence[Snapshot], column: TableColumn) -> list[Snapshot]:
    """The commits whose own schema has the column."""
    return [c for c in commits if column.field_id in {each.field_id for each in _schema(table, c.schema_id)}]


def _schema(table: TableState, schema_id: int | None) -> tuple[TableColumn, ...]:
    return table.schemas.get(schema_id, table.columns) if schema_id is not None else table.columns


def _earlier(table: TableState, reach: Reach) -> tuple[TableColumn, ...]:
    """The columns where the window begins; at its first commit, where nothing lies below."""
    if reach.since is not None:
        return _schema(table, table.by_id[reach.since].schema_id)
    return _schema(table, reach.main[0].schema_id) if reach.main else table.columns


def _added_at(table: TableState, reach: Reach) -> SnapshotId | None:
    """The first commit of the window under the present schema, where the one before it had another."""
    before = _earlier(table, reach)
    for commit in reach.main:
        if _schema(table, commit.schema_id) == table.columns:
            return commit.snapshot_id if before != table.columns else None
        before = _schema(table, commit.schema_id)
    return None


def _partitioning(
    spark: SparkSession, table: TableState, reach: Reach, flinks: Sequence[Snapshot]
) -> tuple[SchemaDifference, ...]:
    """The present partition spec against that of the newest commit below the window, and of the job's newest."""
    if len(table.specs) < 2:
        return ()
    below = newest_with_rows(table, reach.since, 1)
    newest = [commit for commit in flinks if commit.counted("added-data-files")][-1:]
    read = entries(spark, [*below, *newest]).where("status = 1 AND content = 0")
    used = read.groupBy("snapshot_id").agg(F.max("spec_id").alias("spec_id")).limit(2).collect()
    specs = {SnapshotId(row["snapshot_id"]): table.specs.get(row["spec_id"], ()) for row in used}
    now = in_words(table.partitioning)
    was = [in_words(specs[commit.snapshot_id]) for commit in below if commit.snapshot_id in specs]
    writes = [in_words(specs[commit.snapshot_id]) for commit in newest if commit.snapshot_id in specs]
    earlier = [
        SchemaDifference(column=PARTITIONING, between=("earlier-table", "table"), expected=each, found=now)
        for each in was
        if each != now
    ]
    written = [
        SchemaDifference(column=PARTITIONING, between=("table", "files"), expected=now, found=each)
        for each in writes
        if each != now
    ]
    return (*earlier, *written)


def _not_null(filling: Filling) -> SchemaDifference:
    return SchemaDifference(
        column=filling.column.name,
        between=("contract", "files"),
        expected="never null",
        found=f"null in {filling.nulls:,} of {counted(filling.rows, 'row')}",
    )


def _not_filled(filling: Filling) -> SchemaDifference:
    return SchemaDifference(
        column=filling.column.name, between=("table", "files"), expected=filling.column.type, found=_NULL_EVERYWHERE
    )


def _no_counts(filling: Filling) -> NotSeen:
    return NotSeen(
        source=f"null counts of column {filling.column.name}",
        reason=f"The job's writer kept no counts of column {filling.column.name}, so whether it fills it is not known.",
        remedy="Count its nulls with a query, or keep metrics of the column (write.metadata.metrics.column).",
    )


def _not_counted(filling: Filling) -> NotSeen:
    column = filling.column.name
    files = f"{filling.untold:,} of {counted(filling.files, 'file')}"
    return NotSeen(
        source=f"nulls in column {column}",
        reason=f"The contract says that column {column} is never null. A count of its nulls is lacking in {files} of "
        "the job's, so whether that is kept is not known.",
        remedy=f"Have the table require it, or keep its counts (write.metadata.metrics.column.{column} = counts). "
        "By default only the first 100 columns have any. Until then count its nulls with a query.",
    )


def _told(ask: Ask, finding: SchemaDriftFinding, unseen: tuple[NotSeen, ...]) -> Answer:
    columns = counted(len(ask.observation.table.columns), "column")
    unpromised = "" if ask.contract.columns else " The contract promises no columns."
    if finding.differences:
        verdict, headline = Verdict.CONFIRMED, _headline(ask, finding)
    elif unseen:
        verdict, headline = Verdict.INCONCLUSIVE, f"No drift as far as can be seen. {unseen[0].reason}"
    else:
        verdict = Verdict.RULED_OUT
        said = [as_said(each) for each in ask.observation.written.values]
        as_state = "".join(f" {each[0].upper()}{each[1:]} the same." for each in said)
        unchanged = f"The table's {columns} have not changed since the window began, and all are written."
        headline = f"{unchanged}{as_state}{unpromised}"
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="differences", value=len(finding.differences), unit="columns"),
            Measure(name="columns that no file fills", value=len(finding.all_null), unit="columns"),
        ),
        columns=("column", "between", "expected", "found"),
        rows=tuple((d.column, " and ".join(d.between), d.expected, d.found) for d in finding.differences[:MAX_ROWS]),
        finding=finding,
        sources=(
            "schemas and partition specs in the metadata",
            "null counts of the files that the job wrote",
            *(f"columns in {each.path}" for each in ask.observation.written.values),
        ),
        could_not_look=unseen,
    )


def _writes(difference: SchemaDifference) -> str:
    if difference.expected == ABSENT:
        return "goes on without it and leaves it null"
    return f"goes on with {difference.expected}"


def _headline(ask: Ask, finding: SchemaDriftFinding) -> str:
    first = finding.differences[0]
    said = next(map(as_said, ask.observation.written.values), "the job's state says")
    told = {
        ("state", "table"): f"as {said}, the job {_writes(first)}; the table has {{f}}",
        ("contract", "table"): "the contract promises {e}, the table has {f}",
        ("contract", "files"): "the contract says {e}, the job's files have it {f}",
        ("table", "files"): "the table has {e}, the job's files of the window have {f}",
        ("earlier-table", "table"): "it was {e} where the window begins and is {f} now",
    }[first.between]
    more = len(finding.differences) - 1
    others = f"; {counted(more, 'more difference')}" if more else ""
    since = f"; first commit under the present schema: {short(finding.added_at)}" if finding.added_at else ""
    where = "The partitioning" if first.column == PARTITIONING else f"Column {first.column}"
    return f"{where}: {told.format(e=first.expected, f=first.found)}{since}{others}."
