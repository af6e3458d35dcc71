"""The files that leaked Flink manifests list, and which of them the table has."""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.branches import committed_elsewhere
from bot.history.uncommitted import committed_of
from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.flink import STORAGE_CLOCK_DIFFERS, FlinkManifest
from bot.observation.ids import SnapshotId
from bot.observation.ledger import MOST_RANGES, FileWriter, SourceRange
from bot.observation.paths import ByPath
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.commit_files import is_flinks, writers_of
from spark_tasks._support.manifest_entries import BOUNDS, NOTHING, NULLS, Asked, Entry, asked_of, bounds_in, bounds_of
from spark_tasks._support.reading import entries, live_since
from spark_tasks._support.source_ranges import ranges_of, told_ranges
from spark_tasks._support.storage import MAX_PATHS, load_files, sizes_of, unescaped

_FIELDS = {"content": "int", "file_path": "string", "record_count": "bigint", **BOUNDS, **NULLS}
_MANIFEST = f"status int, data_file struct<{', '.join(f'{name}: {kind}' for name, kind in _FIELDS.items())}>"
_ATTEMPTS = 3


class Listed(NamedTuple):
    """One data or delete file of a leaked manifest."""

    file: Entry
    is_in_table: bool
    """Whether a live entry of main names it, or a commit of main, or of the branch that its run writes, added it (a
    compaction may have removed it since)."""
    is_missing: bool

    @property
    def rows(self) -> int:
        """0 for a delete file."""
        return self.file.rows if self.file.is_data else 0

    @property
    def deletes(self) -> int:
        """0 for a data file."""
        return 0 if self.file.is_data else self.file.rows


Contents = tuple[tuple[SourceRange, ...] | None, tuple[FileWriter, ...] | None]
"""Ranges and writers of the files that a leaked manifest lists, as a row of the ledger has them."""


def contents_of(files: Sequence[Listed], table: TableState, contract: TableContract) -> Contents:
    """None where not all of it is told."""
    entries = [each.file for each in files]
    at = SnapshotId(0)
    ranges = (told_ranges(ranges_of(entries, table, contract), table, contract, [at]) or {}).get(at)
    writers = writers_of(entries)
    are_told = bool(writers) and len(writers) <= MOST_RANGES and all(is_flinks(each.path) for each in entries)
    return (ranges if ranges is not None and len(ranges) <= MOST_RANGES else None), (writers if are_told else None)


def files_listed(
    spark: SparkSession, table: TableState, contract: TableContract, leaks: Sequence[FlinkManifest]
) -> dict[str, tuple[Listed, ...] | None]:
    """Path of a manifest -> its files; None where it cannot be read. One that has gone meanwhile is left out: the sink
    has committed and deleted it.

    Cost: the leaked manifests; the head's manifests that were written since the oldest of them, because what is not
    yet there cannot be live; the manifests of the commits that should have taken the files along, and of our repairs;
    names and sizes of files that the table does not have.
    """
    found = files_in(spark, table, leaks, asked_of(table, contract))
    paths = sorted({file.path for files in found.values() for file in files})
    known = _known(spark, table, leaks, paths) if paths else set()
    sizes = sizes_of(spark, table, [path for path in paths if path not in known])
    return {
        path: tuple(Listed(f, f.path in known, f.path not in known and sizes.lacks(f.path)) for f in files) or None
        for path, files in found.items()
    }


def files_in(
    spark: SparkSession, table: TableState, leaks: Sequence[FlinkManifest], asked: Asked = NOTHING
) -> dict[str, list[Entry]]:
    """Path of a manifest -> its files, of commit 0; empty where it cannot be read: a sink writes no empty manifest.

    A running job deletes its manifests, also between our look and our reading: then look again. Raises EvidenceFailed
    above `MAX_PATHS` files: of a part of them nobody could say what they do not name.
    """
    for attempt in range(_ATTEMPTS):
        here = list(sizes_of(spark, table, [leak.path for leak in leaks]).sizes)
        if not here:
            return {}
        try:
            read = load_files(spark, "avro", _MANIFEST, here).where("status != 2")
            ends = [end for each in asked.columns for end in bounds_of(F.col("data_file"), each)]
            told = ("_path", "data_file.file_path", "data_file.content", "data_file.record_count")
            rows = read.select(*told, *ends).limit(MAX_PATHS + 1).collect()
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND" or attempt == _ATTEMPTS - 1:
                raise
            continue
        if len(rows) > MAX_PATHS:
            raise EvidenceFailed(
                "Flink's manifests list too many files to check each.",
                f"Expected at most {MAX_PATHS:,} files in {counted(len(here), 'manifest')}; there are more.",
                "Let the job commit them if it still can. Else move aside the manifests of ended runs that no restore "
                "point needs. Then run it again.",
            )
        found: dict[str, list[Entry]] = {}
        for at, path, content, count, *bounds in rows:
            entry = Entry(0, 1, content or 0, path, int(count), spec_id=0, bounds=bounds_in(bounds))
            found.setdefault(at, []).append(entry)
        by_path = ByPath((unescaped(path), files) for path, files in found.items())
        return {path: by_path.get(path) or [] for path in here}
    return {}


def _known(spark: SparkSession, table: TableState, leaks: Sequence[FlinkManifest], paths: Sequence[str]) -> set[str]:
    """Those of `paths` that main names now, or that a commit that should have taken them along has added, there or on
    another branch, or a repair of ours: a compaction may have written their rows into other files since."""
    if table.head is None:
        return set()
    wanted = F.broadcast(spark.createDataFrame([(path,) for path in paths], "file_path string"))
    live = live_since(spark, table.by_id[table.head], _first_possible(table, leaks)).select("file_path")
    repairs = [each for each in table.chain if each.is_repair and each.counted("added-data-files")]
    added = entries(spark, (*committers_of(table, leaks), *repairs)).where("status = 1").select("file_path")
    found = live.unionByName(added).join(wanted, on="file_path", how="left_semi").distinct()
    return {row["file_path"] for row in found.limit(len(paths)).collect()}


def _first_possible(table: TableState, leaks: Sequence[FlinkManifest]) -> int:
    """The sequence number from which on a commit can have named what the manifests list; 0: any."""
    written = [leak.written_at for leak in leaks if leak.written_at is not None]
    if len(written) < len(leaks):
        return 0
    begin = min(written) - STORAGE_CLOCK_DIFFERS
    first = next((commit for commit in reversed(table.chain) if commit.committed_at >= begin), None)
    if first is None:
        return table.chain[0].sequence_number + 1
    return 0 if first.snapshot_id == table.chain[-1].snapshot_id else first.sequence_number


def committers_of(table: TableState, leaks: Sequence[FlinkManifest]) -> tuple[Snapshot, ...]:
    """For each manifest the first commit of its run that reached its checkpoint, on main or, of a run that main has
    nothing of, on another branch or tag: what would have taken its files along."""
    found: dict[int, Snapshot] = {}
    for leak in leaks:
        committed = committed_of(leak, table)
        is_reached = committed is not None and committed >= leak.checkpoint_id
        _, elsewhere = committed_elsewhere(leak, table) or ("", ())
        for commits in (table.chain if is_reached else (), elsewhere):
            of_run = (s for s in reversed(commits) if s.job_id == leak.job_id and s.checkpoint_id is not None)
            first = next((s for s in of_run if (s.checkpoint_id or 0) >= leak.checkpoint_id), None)
            if first is not None:
                found[first.snapshot_id] = first
    return tuple(found.values())
