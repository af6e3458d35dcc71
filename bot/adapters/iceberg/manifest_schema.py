"""Whether the files of a Flink manifest may be added to the table as they are: by the schema and spec that it carries.

A sink writes with the schema it was started with, the dynamic sink with that of each record, so the id in a manifest is
often not the table's present one. Iceberg reads a file by field ids: any schema that the table has or had is right. One
that it never had is not: the ids may be those of other columns, as after a table was dropped and created anew.
"""

import json
from collections.abc import Mapping

from pydantic import ValidationError
from pyiceberg.exceptions import ResolveError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema, promote
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.types import IcebergType


def why_unfit(header: Mapping[str, str], metadata: TableMetadata) -> str | None:
    """A clause that says why they may not; None: they may. `header`: the metadata of the manifest's Avro file."""
    try:
        schema = Schema.model_validate_json(header["schema"])
        spec_id = int(header["partition-spec-id"])
        fields = [PartitionField.model_validate(each) for each in json.loads(header["partition-spec"])]
    except (KeyError, ValueError, TypeError, ValidationError):
        return "it does not say with which schema and partition spec its files were written"
    spec = metadata.specs().get(spec_id)
    if spec is None or _parts(spec) != _parts(PartitionSpec(*fields)):
        return f"its files are parted by spec {spec_id}, which is not one of the table's by that number"
    for field_id in schema.field_ids:
        name, kind = schema.find_column_name(field_id), schema.find_type(field_id)
        if not any(_is_same(field_id, name, kind, known) for known in metadata.schemas):
            return f"field {field_id} of its schema {schema.schema_id} is {name} ({kind}), which the table never had"
    absent = next((f for f in metadata.schema().fields if f.required and f.field_id not in schema.field_ids), None)
    if absent is not None and absent.initial_default is None:
        return f"its files have no column {absent.name}, which the table requires since"
    return None


def _parts(spec: PartitionSpec) -> list[tuple[int, int, str]]:
    return [(field.source_id, field.field_id, str(field.transform)) for field in spec.fields]


def _is_same(field_id: int, name: str | None, kind: IcebergType, known: Schema) -> bool:
    """Whether a schema of the table has the field by that name, in that type or one to which it may be widened."""
    if known.find_column_name(field_id) != name:
        return False
    other = known.find_type(field_id)
    if not kind.is_primitive or kind == other:
        return kind.is_primitive == other.is_primitive
    try:
        return bool(promote(kind, other) == other)
    except ResolveError:
        return False
