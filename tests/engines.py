"""What any engine does to a table: rows appended, deleted, overwritten; branches, rollbacks; and its folders."""

import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import BooleanExpression
from pyiceberg.table import TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AssertRefSnapshotId, SetSnapshotRefUpdate

from bot.domain.ids import SnapshotId
from tests.altering import AlteredTable


class WrittenTable(AlteredTable):
    """The part of a test's table that any engine writes and reads."""

    catalog: SqlCatalog

    @property
    def data_folder(self) -> Path:
        """Where its data files lie; made when it is first asked for."""
        folder = Path(self._table.location().removeprefix("file://")) / "data"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def _metadata_folder(self) -> Path:
        return Path(self._table.location().removeprefix("file://")) / "metadata"

    def _mapped(self) -> TableMetadata:
        """The table's metadata with the mapping that files without field ids need."""
        mapping = {TableProperties.DEFAULT_NAME_MAPPING: self._table.schema().name_mapping.model_dump_json()}
        metadata = self._table.metadata
        return metadata.model_copy(update={"properties": {**metadata.properties, **mapping}})

    def appends(self, table: pa.Table, summary: Mapping[str, str] | None = None, *, branch: str = "main") -> SnapshotId:
        """An append by whatever engine the summary names; the head of main."""
        self._table.refresh()
        self._table.append(table, snapshot_properties=dict(summary or {"engine-name": "spark"}), branch=branch)
        return self.head

    def branches_off(self, name: str, snapshot: SnapshotId) -> None:
        """A branch that begins at this snapshot."""
        self._table.refresh()
        self._table.manage_snapshots().create_branch(snapshot, name).commit()

    def tags(self, name: str, snapshot: SnapshotId) -> None:
        """A tag on this snapshot."""
        self._table.refresh()
        self._table.manage_snapshots().create_tag(snapshot, name).commit()

    def only_tagged(self, branch: str, tag: str) -> None:
        """The branch goes, and a tag keeps what it had."""
        self._table.refresh()
        at = self._table.metadata.refs[branch].snapshot_id
        self._table.manage_snapshots().create_tag(at, tag).remove_branch(branch).commit()

    def deletes(self, where: str | BooleanExpression) -> SnapshotId:
        """Another engine deletes rows: a `delete` or `overwrite` commit."""
        self._table.refresh()
        self._table.delete(where, snapshot_properties={"engine-name": "spark", "spark.app.id": "local-17"})
        return self.head

    def overwrites(self, table: pa.Table, where: str | BooleanExpression) -> SnapshotId:
        """Another engine replaces the rows under `where`."""
        self._table.refresh()
        self._table.overwrite(table, overwrite_filter=where, snapshot_properties={"engine-name": "spark"})
        return self.head

    def rolls_back_to(self, snapshot: SnapshotId) -> None:
        """`main` is moved to a listed snapshot; no commit is made, as an engine's rollback does it."""
        self._table.refresh()
        now = self._table.metadata.current_snapshot_id
        self.catalog.commit_table(
            self._table,
            (AssertRefSnapshotId(ref="main", snapshot_id=now),),
            (
                SetSnapshotRefUpdate.model_validate(
                    {"ref-name": "main", "type": "branch", "snapshot-id": snapshot, "action": "set-snapshot-ref"}
                ),
            ),
        )
        self._table.refresh()

    def expires(self, *snapshots: SnapshotId) -> None:
        """The metadata no longer lists these; commits above them keep naming them as parents."""
        self._table.refresh()
        self._table.maintenance.expire_snapshots().by_ids(list(snapshots)).commit()

    def manifests_of(self, snapshot: SnapshotId) -> list[Path]:
        """Files of the manifests that this commit wrote."""
        self._table.refresh()
        found = self._table.snapshot_by_id(snapshot)
        assert found is not None
        written = [m for m in found.manifests(self._table.io) if m.added_snapshot_id == snapshot]
        return [Path(manifest.manifest_path.removeprefix("file://")) for manifest in written]

    def becomes_format_3(self) -> None:
        """Another engine upgrades the table: PyIceberg cannot, so the newest metadata file is written anew."""
        self._table.refresh()
        path = Path(self._table.metadata_location.removeprefix("file://"))
        path.write_text(json.dumps(json.loads(path.read_text()) | {"format-version": 3, "next-row-id": 0}))

    @property
    def head(self) -> SnapshotId:
        """The current head; the table is not empty."""
        self._table.refresh()
        head = self._table.metadata.current_snapshot_id
        assert head is not None
        return SnapshotId(head)

    def live(self) -> pa.Table:
        """Every live row of the head, read without Spark: what brute force compares with."""
        self._table.refresh()
        return self._table.scan().to_arrow()
