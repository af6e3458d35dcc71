"""What people do to a table beside writing rows: properties, columns, partitioning, tags, compaction."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform, Transform
from pyiceberg.types import IcebergType, LongType, StringType

from bot.domain.ids import SnapshotId


class AlteredTable:
    """The part of a test's table that alters it."""

    _table: Table

    def sets(self, properties: Mapping[str, str]) -> None:
        """Table properties are changed; no snapshot is made."""
        self._table.refresh()
        with self._table.transaction() as change:
            change.set_properties(dict(properties))

    def adds_column(self, name: str, kind: IcebergType | None = None) -> None:
        """`ALTER TABLE … ADD COLUMN`: no snapshot is made."""
        self._table.refresh()
        with self._table.update_schema() as change:
            change.add_column(name, kind or StringType())

    def renames_column(self, name: str, to: str) -> None:
        """`ALTER TABLE … RENAME COLUMN`."""
        self._table.refresh()
        with self._table.update_schema() as change:
            change.rename_column(name, to)

    def partitions_by_day(self, name: str) -> None:
        """The partition spec evolves; files that are there stay as they are."""
        self._table.refresh()
        with self._table.update_spec() as change:
            change.add_field(name, DayTransform(), f"{name}_day")

    def partitions_by(self, *fields: tuple[str, Transform[Any, Any]], name: str | None = None) -> None:
        """The same, by any transforms of columns; `name`: of the field, where it is one with a name of its own."""
        self._table.refresh()
        with self._table.update_spec() as change:
            for column, transform in fields:
                change.add_field(column, transform, name)

    def widens_column(self, name: str) -> None:
        """`ALTER TABLE … ALTER COLUMN … TYPE bigint`."""
        self._table.refresh()
        with self._table.update_schema() as change:
            change.update_column(name, LongType())

    def rewrites(self, into: pa.Table, summary: Mapping[str, str] | None = None) -> SnapshotId:
        """All live files are replaced by one with these rows, in one `overwrite`, as an update that copies does."""
        self._table.refresh()
        with self._table.transaction() as change, change.update_snapshot(dict(summary or {})).overwrite() as overwrite:
            for task in self._table.scan().plan_files():
                overwrite.delete_data_file(task.file)
            for file in _dataframe_to_data_files(change.table_metadata, into, self._table.io):
                overwrite.append_data_file(file)
        return self._head_of_main()

    def _head_of_main(self) -> SnapshotId:
        self._table.refresh()
        head = self._table.metadata.current_snapshot_id
        assert head is not None
        return SnapshotId(head)

    def compacts(self, into: pa.Table) -> SnapshotId:
        """All live files are replaced by one with these rows, which should be the same.

        PyIceberg knows no `replace`: the newest metadata file is written anew with the word."""
        self.rewrites(into)
        path = Path(self._table.metadata_location.removeprefix("file://"))
        told = json.loads(path.read_text())
        told["snapshots"][-1]["summary"]["operation"] = "replace"
        path.write_text(json.dumps(told))
        return self._head_of_main()

    def tags(self, name: str, snapshot: SnapshotId) -> None:
        """A tag is put on a snapshot."""
        self._table.refresh()
        self._table.manage_snapshots().create_tag(snapshot, name).commit()
