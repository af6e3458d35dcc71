"""Whether compactions kept their rows, told by the keys before and after each."""

from collections.abc import Iterable

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.findings import CompactedRows
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.other_writers import leaves_rows_open
from bot.domain.table import Snapshot
from spark_tasks._changes import key_names, states_of, touched_keys
from spark_tasks._data_files import files_of


def compared(spark: SparkSession, ask: Ask, commits: Iterable[Snapshot]) -> tuple[CompactedRows, ...] | NotSeen:
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
        lost = _lost(spark, ask, parent.snapshot_id, commit)
        if isinstance(lost, NotSeen):
            return lost
        told.append(CompactedRows(snapshot_id=commit.snapshot_id, lost=lost))
    return tuple(told)


def losses(compactions: Iterable[CompactedRows]) -> str:
    """Those that lost rows, as the end of a sentence: `; compaction …123456 lost 50 rows`. Empty: none did."""
    said = (f"; compaction {short(each.snapshot_id)} lost {each.lost:,} rows" for each in compactions if each.lost)
    return "".join(said)


def _lost(spark: SparkSession, ask: Ask, parent: SnapshotId, compaction: Snapshot) -> int | NotSeen:
    """Rows of keys that live in fewer rows after it than before."""
    touched = touched_keys(spark, ask, files_of(spark, [compaction]))
    if isinstance(touched, NotSeen):
        return touched
    keys, kept = key_names(ask), touched.persist()
    try:
        before = states_of(spark, ask, parent, kept, (), "before")
        after = states_of(spark, ask, compaction.snapshot_id, kept, (), "after")
        ended = after.select(*(F.col(key).alias(f"{key}_after") for key in keys), "after_rows")
        same = F.lit(True)
        for key in keys:
            same = same & F.col(key).eqNullSafe(F.col(f"{key}_after"))
        missing = F.greatest(F.col("before_rows") - F.coalesce("after_rows", F.lit(0)), F.lit(0))
        found = before.join(ended, on=same, how="left").agg(F.sum(missing).alias("lost")).first()
    finally:
        kept.unpersist()
    return int(found["lost"] or 0) if found is not None else 0
