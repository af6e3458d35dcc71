"""Manifests as PyIceberg reads them, in the place of Spark: a task that reads nothing else answers in a moment."""

from collections.abc import Iterator, Sequence

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile, read_manifest_list

from bot.observation.table import Column, Snapshot
from spark_tasks._support.few_entries import Edges, Entry, Parted
from spark_tasks._support.window import Reach


def entries_by_commit(
    _spark: object, commits: Sequence[Snapshot], bounded: Sequence[Column | None] = (), parted: Sequence[Parted] = ()
) -> Iterator[list[Entry]]:
    """What Spark's `entries_by_commit` tells of the manifests that these commits wrote."""
    assert not parted, "Ask Spark: partitions are told by its own words."
    for commit in commits:
        yield [
            each
            for manifest in read_manifest_list(PyArrowFileIO().new_input(commit.manifest_list))
            if manifest.added_snapshot_id == commit.snapshot_id
            for each in _entries(manifest, bounded)
        ]


def sizes(_spark: object, reach: Reach, target: int) -> tuple[int, int]:
    """As `table_health` counts files."""
    found = [each.bytes or 0 for some in entries_by_commit(None, reach.main) for each in some if each.status == 1]
    return len(found), sum(4 * each < target for each in found)


def _entries(manifest: ManifestFile, bounded: Sequence[Column | None]) -> Iterator[Entry]:
    for each in manifest.fetch_manifest_entry(PyArrowFileIO(), discard_deleted=False):
        file = each.data_file
        low, high, nulls = file.lower_bounds or {}, file.upper_bounds or {}, file.null_value_counts or {}
        ids = [column.field_id if column is not None else -1 for column in bounded]
        yield Entry(
            snapshot_id=each.snapshot_id or manifest.added_snapshot_id,
            status=int(each.status),
            content=int(file.content),
            path=file.file_path,
            rows=file.record_count,
            spec_id=manifest.partition_spec_id,
            edges=tuple(Edges(low.get(of), high.get(of), nulls.get(of)) for of in ids),
            format=file.file_format.value,
            bytes=file.file_size_in_bytes,
            age=each.sequence_number or 0,
        )
