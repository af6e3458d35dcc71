"""Entries of manifests, counted by commit and kind."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.ledger import MOST_RANGES, FileWriter
from bot.domain.table import MOST_PARTITIONS, Snapshot, TableState
from spark_tasks._bounds import range_columns
from spark_tasks._covered import Covered
from spark_tasks._few_entries import Entry, entries_by_commit
from spark_tasks._manifests import own_manifests
from spark_tasks._parted import Parted
from spark_tasks._source_ranges import ranges_of, source_columns
from spark_tasks._spelling import WRITER_IN_PATH

_WRITER = re.compile(WRITER_IN_PATH, re.ASCII)


class Touched(NamedTuple):
    """Partitions of some files, by one field; values as they are stored."""

    values: Sequence[str]
    """The first `MOST_PARTITIONS`, sorted as text."""
    many: int


class Counts(NamedTuple):
    """Of all entries of one kind that one commit made."""

    snapshot_id: int
    is_added: bool
    is_data: bool
    files: int
    rows: int
    named: int
    """Files with Flink's name."""
    writers: Sequence[str]
    """`subtask-attempt`, each once."""
    spec_ids: Sequence[int]
    event_from: int | None
    event_until: int | None
    position_from: int | None
    position_until: int | None
    partitions: Sequence[Touched]
    """Of each field asked about. The files of a spec without it count, too: `spec_ids` says whether there are any."""


class Written(NamedTuple):
    """By some commits together."""

    counts: list[Counts]
    covered: Covered
    writers: Mapping[SnapshotId, tuple[FileWriter, ...]]
    """Whose names the files that each added have, as far as they have Flink's form; not of a commit with more than
    `MOST_RANGES`."""


def written_by_commits(
    spark: SparkSession,
    table: TableState,
    contract: TableContract,
    commits: Sequence[Snapshot],
    parted: Sequence[Parted] = (),
) -> Written:
    """What these commits themselves added and removed. Reads their manifest lists and the manifests they wrote."""
    event, position = range_columns(table, contract)
    manifests = own_manifests(spark, commits)
    counts: list[Counts] = []
    covered = Covered()
    writers: dict[SnapshotId, tuple[FileWriter, ...]] = {}
    wanted = {int(commit.snapshot_id) for commit in commits}
    for some in entries_by_commit(spark, manifests, (position, event, source_columns(table, contract)[2]), parted):
        own = [each for each in some if each.snapshot_id in wanted and each.status in {1, 2}]
        added = [each for each in own if each.status == 1]
        counts += counts_of(own)
        covered += ranges_of(added, table, contract)
        writers |= writers_of(added)
    return Written(counts, covered, writers)


def is_flinks(path: str) -> bool:
    """Whether the file has Flink's form of name."""
    return _WRITER.search(path) is not None


def writers_of(added: Iterable[Entry]) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    """Commit -> those whose names its files have; as `Written` has them."""
    numbers: dict[tuple[SnapshotId, str], list[int]] = {}
    for entry in added:
        if found := _WRITER.search(entry.path):
            numbers.setdefault((SnapshotId(entry.snapshot_id), found[1]), []).append(int(found[2]))
    return _by_commit((commit, name, min(those), max(those)) for (commit, name), those in numbers.items())


def _by_commit(found: Iterable[tuple[SnapshotId, str, int, int]]) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    of: dict[SnapshotId, list[FileWriter]] = {}
    for commit, name, first, last in found:
        subtask, attempt, its_id = name.split("-", 2)
        writer = FileWriter(subtask=int(subtask), attempt=int(attempt), id=its_id, first=first, last=last)
        of.setdefault(commit, []).append(writer)
    order = attrgetter("subtask", "attempt", "first", "id")
    return {commit: tuple(sorted(some, key=order)) for commit, some in of.items() if len(some) <= MOST_RANGES}


def counts_of(entries: Iterable[Entry]) -> list[Counts]:
    """Entries with the bounds of position and event time."""
    alike: dict[tuple[int, bool, bool], list[Entry]] = {}
    for entry in entries:
        alike.setdefault((entry.snapshot_id, entry.status == 1, entry.content == 0), []).append(entry)
    return [_counted(*kind, some) for kind, some in alike.items()]


def _counted(snapshot_id: int, is_added: bool, is_data: bool, entries: Sequence[Entry]) -> Counts:
    writers = [_short(found[1]) for entry in entries if (found := _WRITER.search(entry.path))]
    position, event = zip(*(entry.edges[:2] for entry in entries), strict=True)
    partitions = zip(*(entry.partition for entry in entries), strict=True)
    return Counts(
        snapshot_id=snapshot_id,
        is_added=is_added,
        is_data=is_data,
        files=len(entries),
        rows=sum(entry.rows for entry in entries),
        named=len(writers),
        writers=sorted(set(writers)),
        spec_ids=sorted({entry.spec_id for entry in entries}),
        event_from=min((edge.low for edge in event if edge.low is not None), default=None),
        event_until=max((edge.high for edge in event if edge.high is not None), default=None),
        position_from=min((edge.low for edge in position if edge.low is not None), default=None),
        position_until=max((edge.high for edge in position if edge.high is not None), default=None),
        partitions=tuple(_touched(set(values)) for values in partitions),
    )


def _short(writer: str) -> str:
    """`subtask-attempt`."""
    return "-".join(writer.split("-", 2)[:2])


def _touched(values: Collection[str]) -> Touched:
    return Touched(sorted(values)[:MOST_PARTITIONS], len(values))
