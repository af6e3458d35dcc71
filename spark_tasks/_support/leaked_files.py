"""The files that leaked Flink manifests list, and which of them the table has."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.branches import committed_elsewhere
from bot.history.uncommitted import committed_of
from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.flink import FlinkManifest
from bot.observation.ids import SnapshotId
from bot.observation.ledger import MOST_RANGES, FileWriter, SourceRange
from bot.observation.paths import ByPath
from bot.observation.sentences import counted
from bot.observation.table import Column, Snapshot, TableState
from spark_tasks._support.commit_files import is_flinks, writers_of
from spark_tasks._support.few_entries import NULLS, Edges, Entry, edges_in, edges_of
from spark_tasks._support.reading import entries, live_since
from spark_tasks._support.source_ranges import ranges_of, told_ranges
from spark_tasks._support.storage import MAX_PATHS, load_files, sizes_of, unescaped

_BOUNDS = "array<struct<key: int, value: binary>>"
_MANIFEST = (
    "status int, data_file struct<content: int, file_path: string, record_count: bigint, "
    f"lower_bounds: {_BOUNDS}, upper_bounds: {_BOUNDS}, null_value_counts: {NULLS['null_value_counts']}>"
)
_CLOCKS = timedelta(minutes=5)
"""How far the clocks of storage and of the committer may be apart."""
_ATTEMPTS = 3


@dataclass(frozen=True)
class Listed:
    """One data or delete file of a leaked manifest."""

    path: str
    rows: int
    """0 for a delete file."""
    deletes: int
    """0 for a data file."""
    is_in_table: bool
    """Whether a live entry of main names it, or a commit of main, or of the branch that its run writes, added it (a
    compaction may have removed it since)."""
    is_missing: bool
    edges: tuple[Edges, ...] = ()
    """Of `source_columns`."""

    @property
    def positions(self) -> tuple[int, int] | None:
        """The lowest and the highest source position of its rows; None: not known, and of a delete file."""
        low, high = (self.edges[0].low, self.edges[0].high) if self.edges and not self.deletes else (None, None)
        return (low, high) if low is not None and high is not None else None


@dataclass(frozen=True)
class Named:
    """One file as a manifest names it: `rows`, `deletes` and `edges` as `Listed` has them."""

    path: str
    rows: int
    deletes: int
    edges: tuple[Edges, ...]


@dataclass(frozen=True)
class Contents:
    """What a leaked manifest lists, as a row of the ledger has it."""

    ranges: tuple[SourceRange, ...] | None = None
    writers: tuple[FileWriter, ...] | None = None


def contents_of(
    listed: Mapping[str, tuple[Listed, ...] | None], table: TableState, contract: TableContract
) -> dict[str, Contents]:
    """Path of a manifest that was read -> its contents."""
    read = [(path, files) for path, files in listed.items() if files]
    entries = [
        Entry(number, 1, 2 if file.deletes else 0, file.path, file.rows, 0, file.edges)
        for number, (_, files) in enumerate(read)
        for file in files
    ]
    ids = [SnapshotId(number) for number in range(len(read))]
    ranges = told_ranges(ranges_of(entries, table, contract), table, contract, ids) or {}
    writers, named = writers_of(entries), Counter(each.snapshot_id for each in entries if is_flinks(each.path))
    return {
        path: Contents(
            ranges=few if len(few := ranges.get(number, ())) <= MOST_RANGES and number in ranges else None,
            writers=writers.get(number) if named[number] == len(files) else None,
        )
        for number, (path, files) in zip(ids, read, strict=True)
    }


def files_listed(
    spark: SparkSession, table: TableState, leaks: Sequence[FlinkManifest], columns: Sequence[Column | None] = ()
) -> dict[str, tuple[Listed, ...] | None]:
    """Path of a manifest -> its files, with the edges of `columns`; None where it cannot be read. One that has gone
    meanwhile is left out: the sink has committed and deleted it.

    Cost: the leaked manifests; the head's manifests that were written since the oldest of them, because what is not
    yet there cannot be live; the manifests of the commits that should have taken the files along, and of our repairs;
    names and sizes of files that the table does not have.
    """
    found = paths_in(spark, table, leaks, columns)
    paths = sorted({file.path for files in found.values() for file in files})
    known = _known(spark, table, leaks, paths) if paths else set()
    sizes = sizes_of(spark, table, [path for path in paths if path not in known])
    return {
        leak.path: tuple(
            Listed(
                path=file.path,
                rows=file.rows,
                deletes=file.deletes,
                is_in_table=file.path in known,
                is_missing=file.path not in known and sizes.lacks(file.path),
                edges=file.edges,
            )
            for file in found[leak.path]
        )
        or None
        for leak in leaks
        if leak.path in found
    }


def paths_in(
    spark: SparkSession, table: TableState, leaks: Sequence[FlinkManifest], columns: Sequence[Column | None] = ()
) -> dict[str, list[Named]]:
    """Path of a manifest -> its files; empty where it cannot be read: a sink writes no empty manifest.

    A running job deletes its manifests, also between our look and our reading: then look again. Raises EvidenceFailed
    above `MAX_PATHS` files: of a part of them nobody could say what they do not name.
    """
    for attempt in range(_ATTEMPTS):
        here = list(sizes_of(spark, table, [leak.path for leak in leaks]).sizes)
        if not here:
            return {}
        try:
            read = load_files(spark, "avro", _MANIFEST, here).where("status != 2")
            edges = [edge for each in columns for edge in edges_of(F.col("data_file"), each)]
            told = ("_path", "data_file.file_path", "data_file.content", "data_file.record_count")
            rows = read.select(*told, *edges).limit(MAX_PATHS + 1).collect()
        except AnalysisException as error:
            if error.getCondition() != "PATH_NOT_FOUND" or attempt == _ATTEMPTS - 1:
                raise
            continue
        if len(rows) > MAX_PATHS:
            raise _too_many(len(here))
        found: dict[str, list[Named]] = {}
        for row in rows:
            at, path, content, count, *bounds = row
            rows_here, deletes = (0, int(count)) if content else (int(count), 0)
            found.setdefault(at, []).append(Named(path, rows_here, deletes, edges_in(bounds)))
        by_path = ByPath((unescaped(path), files) for path, files in found.items())
        return {path: by_path.get(path) or [] for path in here}
    return {}


def _too_many(manifests: int) -> EvidenceFailed:
    return EvidenceFailed(
        "Flink's manifests list too many files to check each.",
        f"Expected at most {MAX_PATHS:,} files in {counted(manifests, 'manifest')}; there are more.",
        "Let the job commit them if it still can. Else move aside the manifests of ended runs that no restore "
        "point needs. Then run it again.",
    )


def _known(spark: SparkSession, table: TableState, leaks: Sequence[FlinkManifest], paths: Sequence[str]) -> set[str]:
    """Those of `paths` that main names now, or that a commit that should have taken them along has added, there or on
    another branch, or a repair of ours: a compaction may have written their rows into other files since."""
    if table.head is None:
        return set()
    wanted = F.broadcast(spark.createDataFrame([(path,) for path in paths], "file_path string"))
    live = live_since(spark, table.by_id[table.head], _first_possible(table, leaks)).select("file_path")
    repairs = [each for each in table.chain if each.is_repair and each.counted("added-data-files")]
    committers = (*committers_of(table, leaks), *_committers_elsewhere(table, leaks))
    added = entries(spark, (*committers, *repairs)).where("status = 1").select("file_path")
    found = live.unionByName(added).join(wanted, on="file_path", how="left_semi").distinct()
    return {row["file_path"] for row in found.limit(len(paths)).collect()}


def _first_possible(table: TableState, leaks: Sequence[FlinkManifest]) -> int:
    """The sequence number from which on a commit can have named what the manifests list; 0: any."""
    written = [leak.written_at for leak in leaks if leak.written_at is not None]
    if len(written) < len(leaks):
        return 0
    begin = min(written) - _CLOCKS
    first = next((commit for commit in reversed(table.chain) if commit.committed_at >= begin), None)
    if first is None:
        return table.chain[0].sequence_number + 1
    return 0 if first.snapshot_id == table.chain[-1].snapshot_id else first.sequence_number


def committers_of(table: TableState, leaks: Sequence[FlinkManifest]) -> tuple[Snapshot, ...]:
    """For each manifest the first commit on main of its run that reached its checkpoint: what would have taken its
    files along."""
    found: dict[int, Snapshot] = {}
    for leak in leaks:
        committed = committed_of(leak, table)
        if committed is None or committed < leak.checkpoint_id:
            continue
        of_run = (s for s in reversed(table.chain) if s.job_id == leak.job_id and s.checkpoint_id is not None)
        first = next((s for s in of_run if (s.checkpoint_id or 0) >= leak.checkpoint_id), None)
        if first is not None:
            found[first.snapshot_id] = first
    return tuple(found.values())


def _committers_elsewhere(table: TableState, leaks: Sequence[FlinkManifest]) -> tuple[Snapshot, ...]:
    """The same on another branch or tag, of runs that main has nothing of."""
    found: dict[int, Snapshot] = {}
    for leak in leaks:
        _, commits = committed_elsewhere(leak, table) or ("", ())
        reached = (s for s in reversed(commits) if s.job_id == leak.job_id and s.checkpoint_id is not None)
        first = next((s for s in reached if (s.checkpoint_id or 0) >= leak.checkpoint_id), None)
        if first is not None:
            found[first.snapshot_id] = first
    return tuple(found.values())
