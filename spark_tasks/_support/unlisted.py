"""Source places of commits that are not listed any more: what the oldest listed commit still has of their files."""

import re
from collections.abc import Collection, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Ask
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot
from spark_tasks._support.coverage import Partition, partition_of
from spark_tasks._support.data_files import DataFile, file_of, rows_in
from spark_tasks._support.few_entries import Edges, entries_by_commit
from spark_tasks._support.manifests import Manifest, newest_of
from spark_tasks._support.positions import MOST_PARTITIONS
from spark_tasks._support.reading import column, renamed
from spark_tasks._support.source_ranges import WHOLE

_MOST_MANIFESTS = 400
_MOST_FILES = 10_000
_NUMBER = re.compile(r"-?\d+")


def highest_below(
    spark: SparkSession, ask: Ask, oldest: Snapshot, many: int, known: Collection[Partition]
) -> dict[Partition, int] | NotSeen:
    """Partition -> the highest position in data files that live at `oldest`, of the newest `many` commits below it,
    deleted rows too. Files that by their bounds hold no partition but those that are `known` are passed over. NotSeen
    where the files are too many, or a column had another name.

    Cost: one manifest list, the manifests that the newest `many` of its writers wrote, and two columns of files that
    may hold another partition: none where all partitions go on, as long as the column holds whole numbers.
    """
    table, contract = ask.observation.table, ask.contract
    assert contract.position is not None
    assert contract.position_partition is not None
    names = [contract.position_partition, contract.position]
    if other_names := renamed(table, names):
        return other_names[0]
    manifests = _newest(spark, oldest, many)
    if len(manifests) > _MOST_MANIFESTS:
        return _too_much(ask, oldest, many, f"more than {_MOST_MANIFESTS:,} manifests")
    files = _files(spark, ask, oldest, manifests, many, known)
    if len(files) > _MOST_FILES:
        return _too_much(ask, oldest, many, f"more than {_MOST_FILES:,} data files")
    if not files:
        return {}
    placed = rows_in(spark, table, files, names).select(partition_of(ask), column(contract.position).cast("bigint"))
    places = placed.toDF("partition", "position").where("partition IS NOT NULL AND position IS NOT NULL")
    told = places.groupBy("partition").agg(F.max("position")).limit(MOST_PARTITIONS).collect()
    return {row[0]: int(row[1]) for row in told}


def _newest(spark: SparkSession, oldest: Snapshot, many: int) -> list[Manifest]:
    """Those of `oldest` itself, which may have merged older ones, and of so many who wrote before, the last first: of
    format v1, whose lists do not tell who was the last, all. At most one more than `_MOST_MANIFESTS`."""
    chosen: list[Manifest] = []
    writers: set[int] = set()
    for each in newest_of(spark, oldest, _MOST_MANIFESTS + 1, first=(oldest,)):
        if each.snapshot_id != oldest.snapshot_id:
            writers.add(each.snapshot_id)
        if len(writers) > many and each.sequence_number:
            break
        chosen.append(each)
    return chosen


def _files(
    spark: SparkSession,
    ask: Ask,
    oldest: Snapshot,
    manifests: Sequence[Manifest],
    many: int,
    known: Collection[Partition],
) -> list[DataFile]:
    """Data files of the newest `many` commits below, that may hold another partition. What `oldest` itself brought is
    not of them, unless it rewrote older files."""
    named = next(each for each in ask.observation.table.columns if each.name == ask.contract.position_partition)
    live = [
        entry
        for some in entries_by_commit(spark, manifests, (named if named.type in WHOLE else None,))
        for entry in some
        if entry.status != 2 and entry.content == 0
        if oldest.operation != "append" or entry.snapshot_id != oldest.snapshot_id
    ]
    newest = set(sorted({entry.age for entry in live}, reverse=True)[:many])
    numbers = [int(each) for each in known if each is not None and _NUMBER.fullmatch(each)]
    return [file_of(each) for each in live if each.age in newest and _may_hold_another(each.edges[0], numbers)]


def _may_hold_another(edges: Edges, known: Sequence[int]) -> bool:
    """Between the bounds of the others all are known."""
    if edges.low is None or edges.high is None:
        return True
    return sum(edges.low <= each <= edges.high for each in known) < edges.high - edges.low + 1


def _too_much(ask: Ask, oldest: Snapshot, many: int, found: str) -> NotSeen:
    return NotSeen(
        source=f"what lay below snapshot {oldest.snapshot_id} of {ask.observation.table.name}",
        reason="The commits below it have expired, and which source partitions the newest of them wrote is not known: "
        f"that would be told by {found}.",
        remedy=f"Ask again with a window that begins {many} commits later, or ask the source whether each of its "
        "partitions goes on.",
    )
