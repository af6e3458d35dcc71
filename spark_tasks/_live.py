"""What is live at a snapshot, from those manifests alone that a window can have touched."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from bot.domain.table import Snapshot
from spark_tasks._manifests import Manifest, newest_of, not_too_many, written_since
from spark_tasks._reading import entries_of

MANIFESTS_BELOW = 20
"""How far below the window copies are looked for: a commit that is repeated lies near its repetition."""
ENTRIES_BELOW = 1_000
"""When so many are in hand, no further manifest below the window is read. The one that reaches it is read whole; a
merged manifest has more, up to the size at which the table's writers stop merging."""


class Around(NamedTuple):
    """Manifests of one snapshot, from the window down."""

    manifests: tuple[Manifest, ...]
    is_whole: bool
    """Whether the snapshot has no others."""


def manifests_around(spark: SparkSession, at: Snapshot, window: Sequence[Snapshot]) -> Around:
    """Manifests of `at` that the window's commits wrote, and the newest below them, until `MANIFESTS_BELOW` of them
    or `ENTRIES_BELOW` entries are in hand. A manifest that a commit of the window merged is one of the window's.

    Cost: one manifest list.
    """
    ids = {int(commit.snapshot_id) for commit in window}
    asked = 2 * (len(window) + MANIFESTS_BELOW)
    while True:
        listed = newest_of(spark, at, asked, first=window)
        inside = [manifest for manifest in listed if manifest.snapshot_id in ids]
        below = list(_enough(each for each in listed if each.snapshot_id not in ids))
        if len(listed) < asked or len(inside) + len(below) < len(listed) or len(below) == MANIFESTS_BELOW:
            is_whole = len(listed) < asked and len(inside) + len(below) == len(listed)
            return Around((*inside, *below), is_whole)
        not_too_many(len(inside))
        asked *= 8


def live_since(spark: SparkSession, at: Snapshot, sequence_number: int) -> DataFrame:
    """Entries that are live at `at`, in manifests written at this sequence number or later.

    A file that was not there before that commit is live in no other manifest. Cost: these manifests; all of them
    where the list states no sequence numbers.
    """
    return entries_of(spark, written_since(spark, at, sequence_number)).where("status != 2")


def _enough(newest_first: Iterator[Manifest]) -> Iterator[Manifest]:
    entries = 0
    for number, manifest in enumerate(newest_first):
        if number == MANIFESTS_BELOW or entries >= ENTRIES_BELOW:
            return
        yield manifest
        entries += manifest.entries
