"""PyIceberg's metadata, translated into the domain's `TableState`; reads nothing itself."""

from datetime import UTC, datetime

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot as IcebergSnapshot

from bot.domain.ids import SnapshotId, TableName
from bot.domain.table import Column, HeadMove, Ref, Snapshot, TableState


def table_state(name: TableName, metadata: TableMetadata, metadata_location: str, read_at: datetime) -> TableState:
    """The whole state that one metadata file tells, snapshots by rising sequence number."""
    head = metadata.current_snapshot_id
    snapshots = [_snapshot(each) for each in metadata.snapshots]
    return TableState(
        name=name,
        uuid=str(metadata.table_uuid),
        location=metadata.location,
        metadata_location=metadata_location,
        format_version=metadata.format_version,
        head=SnapshotId(head) if head is not None and head >= 0 else None,
        snapshots=tuple(sorted(snapshots, key=lambda each: (each.sequence_number, each.committed_at))),
        refs=tuple(
            Ref(name=ref_name, kind=ref.snapshot_ref_type.value, snapshot_id=SnapshotId(ref.snapshot_id))
            for ref_name, ref in sorted(metadata.refs.items())
        ),
        head_moves=tuple(
            HeadMove(at=_utc(entry.timestamp_ms), snapshot_id=SnapshotId(entry.snapshot_id))
            for entry in metadata.snapshot_log
        ),
        properties=dict(metadata.properties),
        columns=tuple(
            Column(field_id=field.field_id, name=field.name, type=str(field.field_type))
            for field in metadata.schema().fields
        ),
        read_at=read_at,
    )


def _snapshot(snapshot: IcebergSnapshot) -> Snapshot:
    # `Summary.get` ignores its default and `[]` never raises (PyIceberg 0.12), so the mapping is copied.
    summary = snapshot.summary.model_dump() if snapshot.summary is not None else {}
    parent = snapshot.parent_snapshot_id
    return Snapshot(
        snapshot_id=SnapshotId(snapshot.snapshot_id),
        parent_id=SnapshotId(parent) if parent is not None else None,
        sequence_number=snapshot.sequence_number or 0,
        committed_at=_utc(snapshot.timestamp_ms),
        operation=str(summary.get("operation", "unknown")),
        manifest_list=snapshot.manifest_list,
        schema_id=snapshot.schema_id,
        summary={key: str(value) for key, value in summary.items()},
    )


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
