"""What people do to a table beside writing rows: properties, columns, partitioning, tags. None of it is a snapshot."""

from collections.abc import Mapping

from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform
from pyiceberg.types import IcebergType, StringType

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

    def tags(self, name: str, snapshot: SnapshotId) -> None:
        """A tag is put on a snapshot."""
        self._table.refresh()
        self._table.manage_snapshots().create_tag(snapshot, name).commit()
