"""Manifests as PyIceberg reads them, in the place of Spark: a task that reads nothing else answers in a moment."""

from collections.abc import Iterator, Sequence

from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestFile, read_manifest_list

from bot.observation.table import Snapshot
from spark_tasks._support.manifest_entries import NOTHING, Asked, Bounds, Entry


def entries_by_commit(_spark: object, commits: Sequence[Snapshot], asked: Asked = NOTHING) -> Iterator[list[Entry]]:
    """What Spark's `entries_by_commit` tells of the manifests that these commits wrote, but for partitions."""
    for commit in commits:
        yield [
            each
            for manifest in read_manifest_list(PyArrowFileIO().new_input(commit.manifest_list))
            if manifest.added_snapshot_id == commit.snapshot_id
            for each in _entries(manifest, asked)
        ]


def _entries(manifest: ManifestFile, asked: Asked) -> Iterator[Entry]:
    for each in manifest.fetch_manifest_entry(PyArrowFileIO(), discard_deleted=False):
        file = each.data_file
        low, high, nulls = file.lower_bounds or {}, file.upper_bounds or {}, file.null_value_counts or {}
        ids = [column.field_id if column is not None else -1 for column in asked.columns]
        yield Entry(
            snapshot_id=each.snapshot_id or manifest.added_snapshot_id,
            status=int(each.status),
            content=int(file.content),
            path=file.file_path,
            rows=file.record_count,
            spec_id=manifest.partition_spec_id,
            bounds=tuple(Bounds(low.get(of), high.get(of), nulls.get(of)) for of in ids),
            partition=("?",) * len(asked.parted),
            format=file.file_format.value.lower(),
            bytes=file.file_size_in_bytes,
            age=each.sequence_number or 0,
        )
