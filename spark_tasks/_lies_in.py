"""In which partition of the table a row lies, as text; and where Iceberg cannot tell it."""

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.table import TableState
from spark_tasks._reading import columns_at

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
