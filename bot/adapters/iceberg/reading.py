"""PyIceberg's metadata, translated into the domain's `TableState`; reads nothing itself."""

from collections.abc import Iterable
from datetime import datetime

from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1

from bot.adapters.iceberg.streaming_metadata import History, history_of
from bot.domain.ids import SnapshotId, TableName
from bot.domain.table import Column, PartitionField, Ref, TableState


def table_state(
    name: TableName, metadata: TableMetadata, metadata_location: str, read_at: datetime, history: History | None = None
) -> TableState:
    """The whole state that one metadata file tells, snapshots by rising sequence number.

    `history` where it was read apart from the rest; None: it is in `metadata`.
    """
    head = metadata.current_snapshot_id
    history = history or history_of(metadata)
    return TableState(
        name=name,
        uuid=str(metadata.table_uuid),
        location=metadata.location,
        metadata_location=metadata_location,
        format_version=metadata.format_version,
        head=SnapshotId(head) if head is not None and head >= 0 else None,
        snapshots=history.snapshots,
        refs=tuple(
            Ref(
                name=ref_name,
                kind=ref.snapshot_ref_type.value,
                snapshot_id=SnapshotId(ref.snapshot_id),
                max_ref_age_ms=ref.max_ref_age_ms,
                max_snapshot_age_ms=ref.max_snapshot_age_ms,
                min_snapshots=ref.min_snapshots_to_keep,
            )
            for ref_name, ref in sorted(metadata.refs.items())
        ),
        head_moves=history.moves,
        properties=dict(metadata.properties),
        columns=columns_of(metadata.schema()),
        read_at=read_at,
        partitioning=fields_of(metadata.spec(), metadata.schema()),
        schemas={schema.schema_id: columns_of(schema) for schema in metadata.schemas},
        specs={spec.spec_id: fields_of(spec, *reversed(metadata.schemas)) for spec in metadata.partition_specs},
        spec_fields={
            spec.spec_id: _typed_fields(spec, *reversed(metadata.schemas)) for spec in metadata.partition_specs
        },
        last_sequence_number=None if isinstance(metadata, TableMetadataV1) else metadata.last_sequence_number,
        lineage_since=history.lineage_since,
    )


def columns_of(schema: Schema) -> tuple[Column, ...]:
    return tuple(
        Column(
            field_id=field.field_id,
            name=field.name,
            type=str(field.field_type),
            is_required=field.required,
            has_default=True if field.initial_default is not None else None,
        )
        for field in schema.fields
    )


def fields_of(spec: PartitionSpec, *schemas: Schema) -> tuple[str, ...]:
    """As `day(event_time)`; a source column under the first of the schemas that has it."""
    return tuple(_words(field, _having(field, schemas)) for field in spec.fields)


def _typed_fields(spec: PartitionSpec, *schemas: Schema) -> tuple[PartitionField, ...]:
    told = []
    for field in spec.fields:
        schema = _having(field, schemas)
        if schema is not None:
            kind = field.transform.result_type(schema.find_type(field.source_id))
            told.append(PartitionField(words=_words(field, schema), name=field.name, type=str(kind)))
    return tuple(told)


def _having(field: IcebergField, schemas: Iterable[Schema]) -> Schema | None:
    """The first that has the field's column."""
    return next((schema for schema in schemas if schema.find_column_name(field.source_id) is not None), None)


def _words(field: IcebergField, schema: Schema | None) -> str:
    source = (schema.find_column_name(field.source_id) if schema else None) or f"field {field.source_id}"
    transform = str(field.transform)
    return source if transform == "identity" else f"{transform}({source})"
