"""What commits brought, to be compared: the part of the source each covers, and the files that several added.

Told here where their manifests have few entries, by Spark where they have many, and by rows where they do not tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState
from spark_tasks._bounds import NULLS
from spark_tasks._covered import Covered
from spark_tasks._few_entries import Entry, few_entries
from spark_tasks._manifests import own_manifests
from spark_tasks._reading import entries_of, own_entries
from spark_tasks._source_ranges import ranges_here, ranges_of, source_columns
from spark_tasks._unstated import with_rows_read

_MAX_GROUPS = 500


class Shared(NamedTuple):
    """Paths that the same commits have added, each counted once."""

    files: int
    rows: int
    """Of data files."""


class Brought(NamedTuple):
    """Of some commits together."""

    covered: Covered
    shared: Mapping[tuple[SnapshotId, ...], Shared]
    """Commits that added the same paths, their ids rising -> these paths; the `_MAX_GROUPS` that share most."""


def brought_by(spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]) -> Brought:
    """Reads the manifest lists of these commits, which are some, and the manifests that they wrote; and rows, see
    `with_rows_read`."""
    covered, shared = _told_by_manifests(spark, table, contract, commits)
    return Brought(with_rows_read(spark, table, contract, commits, covered), shared)


def _told_by_manifests(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> Brought:
    manifests = own_manifests(spark, commits)
    few = few_entries(spark, manifests, source_columns(table, contract), nulls=True)
    if few is not None:
        wanted = {int(commit.snapshot_id) for commit in commits}
        brought = [each for each in few if each.snapshot_id in wanted and each.status == 1]
        return Brought(ranges_here(brought, table, contract), _shared_here(brought))
    added = own_entries(entries_of(spark, manifests, bounds=True, more=NULLS), commits).where("status = 1").persist()
    try:
        return Brought(ranges_of(added, table, contract), _shared_files(added))
    finally:
        added.unpersist()


def _shared_here(added: Iterable[Entry]) -> dict[tuple[SnapshotId, ...], Shared]:
    by_path: dict[str, tuple[set[SnapshotId], int]] = {}
    for entry in added:
        commits, _ = by_path.setdefault(entry.path, (set(), entry.rows if entry.content == 0 else 0))
        commits.add(SnapshotId(entry.snapshot_id))
    shared: dict[tuple[SnapshotId, ...], Shared] = {}
    for commits, rows in by_path.values():
        if len(commits) > 1:
            before = shared.get(group := tuple(sorted(commits)), Shared(0, 0))
            shared[group] = Shared(before.files + 1, before.rows + rows)
    most = sorted(shared.items(), key=lambda each: -each[1].files)
    return dict(most[:_MAX_GROUPS])


def _shared_files(added: DataFrame) -> dict[tuple[SnapshotId, ...], Shared]:
    """The same of a frame of entries; reads."""
    by_path = added.groupBy("file_path").agg(
        F.array_sort(F.collect_set("snapshot_id")).alias("snapshots"),
        F.max(F.when(F.col("content") == 0, F.col("record_count")).otherwise(0)).alias("of_one"),
    )
    shared = by_path.where(F.size("snapshots") > 1)
    groups = shared.groupBy("snapshots").agg(F.count("*").alias("files"), F.sum("of_one").alias("rows"))
    found = groups.orderBy(F.desc("files")).limit(_MAX_GROUPS).collect()
    return {
        tuple(SnapshotId(each) for each in row["snapshots"]): Shared(int(row["files"]), int(row["rows"]))
        for row in found
    }
