"""Manifests as the manifest lists name them: which commit wrote each, and how many entries it has.

A list names every manifest of its snapshot. It is filtered in Spark, so that what comes back follows the commits
that are asked about, and not the table.
"""

from collections.abc import Iterable, Sequence
from threading import Condition
from typing import NamedTuple

from cachetools import LRUCache, cached
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.errors import EvidenceFailed
from bot.observation.table import Snapshot
from spark_tasks._support.storage import exact

MAX_MANIFESTS = 20_000
_LISTS_ONE_BY_ONE = 2
"""After so many lists the rest is read at once: then manifests are merged all the time."""
_FEW_LISTS = 32
"""So many are read at once after the first: a second question would cost more than reading them."""
_LIST = """
    manifest_path string, manifest_length bigint, partition_spec_id int, sequence_number bigint,
    added_snapshot_id bigint, added_files_count int, existing_files_count int, deleted_files_count int,
    added_data_files_count int, existing_data_files_count int, deleted_data_files_count int
"""
"""The counts have two names: older writers say `data`, though delete files are counted too."""
_ADDED = ("added-data-files", "added-delete-files")
_REMOVED = ("deleted-data-files", "removed-delete-files")
_MOST_KEPT = 40_000
"""Manifests."""


class Manifest(NamedTuple):
    """One line of a manifest list."""

    path: str
    length: int | None
    spec_id: int
    sequence_number: int
    """0 in lists of format v1, which hold none."""
    snapshot_id: int
    """The commit that wrote it."""
    added: int | None
    """Entries; None where the writer does not say."""
    existing: int | None
    removed: int | None

    @property
    def entries(self) -> int:
        """How many it has, as far as the writer says."""
        return (self.added or 0) + (self.existing or 0) + (self.removed or 0)


def written_by(spark: SparkSession, at: Snapshot, commits: Iterable[Snapshot]) -> tuple[Manifest, ...]:
    """Manifests of `at` that these commits wrote; reads one manifest list.

    What a later commit merged is told as that commit's.
    """
    ids = [int(commit.snapshot_id) for commit in commits]
    return _manifests(listed(spark, [at]).where(F.col("added_snapshot_id").isin(ids)))


def written_since(spark: SparkSession, at: Snapshot, sequence_number: int) -> tuple[Manifest, ...]:
    """Manifests of `at` written at this sequence number or later; all where the list states none. Reads one list."""
    return _manifests(
        listed(spark, [at]).where(F.coalesce("sequence_number", F.lit(sequence_number)) >= sequence_number)
    )


def newest_of(spark: SparkSession, at: Snapshot, many: int, *, first: Iterable[Snapshot] = ()) -> tuple[Manifest, ...]:
    """So many manifests of `at`: those that the commits `first` wrote, then the others, the last written first.
    Reads one list."""
    is_first = F.col("added_snapshot_id").isin([int(commit.snapshot_id) for commit in first])
    age = F.coalesce("sequence_number", F.lit(0)).desc()
    rows = listed(spark, [at]).orderBy(is_first.desc(), age, "manifest_path").limit(many).collect()
    return tuple(manifest_of(row) for row in rows)


def _of_commits(_spark: SparkSession, commits: Sequence[Snapshot]) -> frozenset[int]:
    return frozenset(commit.snapshot_id for commit in commits)


@cached(LRUCache(_MOST_KEPT, getsizeof=len), key=_of_commits, condition=Condition())
def own_manifests(spark: SparkSession, commits: Sequence[Snapshot]) -> tuple[Manifest, ...]:
    """The manifests in which these commits put what they added and removed, in no order.

    Source: a commit's own manifest list. A later commit's list is as good as long as nothing was merged away since:
    when its manifests of the commit count as many files as the commit's summary. So the newest commit's list is read
    first, and an older one only for commits that it does not tell wholly (merged away, or rolled back).
    Lists never change, and what they say is kept for the next task; one that asks for them meanwhile waits.
    """
    left = {int(commit.snapshot_id): commit for commit in commits}
    found: dict[str, Manifest] = {}
    for number in range(_LISTS_ONE_BY_ONE):
        if not left or (number and len(left) <= _FEW_LISTS):
            break
        newest = max(left.values(), key=lambda commit: (commit.sequence_number, commit.committed_at))
        told: dict[int, list[Manifest]] = {snapshot_id: [] for snapshot_id in left}
        for each in written_by(spark, newest, left.values()):
            told[each.snapshot_id].append(each)
        for snapshot_id, manifests in told.items():
            if snapshot_id == newest.snapshot_id or _is_whole(left[snapshot_id], manifests):
                found |= {each.path: each for each in manifests}
                del left[snapshot_id]
    if left:
        own = listed(spark, left.values()).where(F.col("added_snapshot_id").isin(list(left))).distinct()
        found |= {each.path: each for each in _manifests(own)}
    return tuple(each for each in found.values() if (each.added, each.removed) != (0, 0))


def not_too_many(manifests: int) -> None:
    """Raises EvidenceFailed above `MAX_MANIFESTS`."""
    if manifests > MAX_MANIFESTS:
        raise EvidenceFailed(
            "The window is too large to read.",
            f"Expected at most {MAX_MANIFESTS:,} manifests; there are more.",
            "Choose a window that begins later, then run it again.",
        )


def _is_whole(commit: Snapshot, manifests: Sequence[Manifest]) -> bool:
    """Whether these are all that the commit put its files in; False where its summary counts nothing."""
    summary = commit.summary
    if not {*_ADDED, *_REMOVED, "total-data-files"} & summary.keys():
        return False
    added, removed = (sum(commit.counted(key) for key in keys) for keys in (_ADDED, _REMOVED))
    counts = [(each.added, each.removed) for each in manifests]
    if any(None in pair for pair in counts):
        return False
    return (added, removed) == (sum(a or 0 for a, _ in counts), sum(r or 0 for _, r in counts))


def listed(spark: SparkSession, at: Iterable[Snapshot]) -> DataFrame:
    """Lines of these snapshots' manifest lists, as `manifest_of` takes them; lazy."""
    return spark.read.format("avro").schema(_LIST).load([exact(snapshot.manifest_list) for snapshot in at])


def _manifests(lines: DataFrame) -> tuple[Manifest, ...]:
    rows = lines.limit(MAX_MANIFESTS + 1).collect()
    not_too_many(len(rows))
    return tuple(manifest_of(row) for row in rows)


def manifest_of(row: Row) -> Manifest:
    """A line of `listed`."""
    return Manifest(
        path=row["manifest_path"],
        length=row["manifest_length"],
        spec_id=row["partition_spec_id"],
        sequence_number=row["sequence_number"] or 0,
        snapshot_id=row["added_snapshot_id"],
        added=_count(row, "added"),
        existing=_count(row, "existing"),
        removed=_count(row, "deleted"),
    )


def _count(row: Row, kind: str) -> int | None:
    told: int | None = row[f"{kind}_files_count"]
    older: int | None = row[f"{kind}_data_files_count"]
    return older if told is None else told
