"""What is live at a snapshot, from those manifests alone that a window can have touched."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.table import Snapshot
from spark_tasks._reading import entries_in, manifests_of

MANIFESTS_BELOW = 20
"""How far below the window copies are looked for: a commit that is repeated lies near its repetition."""
_OLDEST_FORMAT = 0
"""Manifest lists of format v1 hold no sequence number."""


def live_around(spark: SparkSession, at: Snapshot, window: Sequence[Snapshot]) -> DataFrame:
    """Entries that are live at `at`, in manifests that the window's commits wrote and in the newest below them.

    Shape: as of `_reading.entries`, status 0 (carried over) or 1; one row per entry, so that a path that is listed
    twice has two. Cost: one manifest list now; the window's manifests and at most `MANIFESTS_BELOW` more later. A
    manifest that a commit of the window merged is one of the window's.
    """
    ids = [int(commit.snapshot_id) for commit in window]
    listed = manifests_of(spark, [at.manifest_list])
    is_inside = F.col("added_snapshot_id").isin(ids)
    order = F.coalesce("sequence_number", F.lit(_OLDEST_FORMAT))
    below = listed.where(~is_inside).orderBy(order.desc(), "manifest_path").limit(MANIFESTS_BELOW)
    return entries_in(spark, listed.where(is_inside).unionByName(below)).where("status != 2")


def live_since(spark: SparkSession, at: Snapshot, sequence_number: int) -> DataFrame:
    """Entries that are live at `at`, in manifests written at this sequence number or later.

    A file that was not there before that commit is live in no other manifest. Cost: these manifests; all of them
    where the list states no sequence numbers.
    """
    late = F.coalesce("sequence_number", F.lit(sequence_number)) >= sequence_number
    return entries_in(spark, manifests_of(spark, [at.manifest_list]).where(late)).where("status != 2")
