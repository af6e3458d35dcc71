"""Data contracts in the Open Data Contract Standard (v3), read as a table's promises.

What is taken: the schema object of the table, its properties (name, physical type, `required`, `primaryKey`,
`classification`), custom properties named below, and the service levels latency or freshness,
frequency and retention. What a contract does not say stays unsaid.
"""

from collections.abc import Iterable
from pathlib import Path

from open_data_contract_standard.model import (
    CustomProperty,
    OpenDataContractStandard,
    SchemaObject,
    SchemaProperty,
)
from pydantic import ValidationError
from ruamel.yaml.error import YAMLError

from bot.adapters.contract_levels import levels_of, name_of, span_of
from bot.adapters.contract_yaml import bad_contract, standard_of
from bot.domain.contract import ContractColumn, TableContract
from bot.domain.errors import BadConfiguration
from bot.domain.ids import TableName

_OF_COLUMN = {"position": "position", "sourcePosition": "position", "positionPartition": "position_partition",
              "sourcePartition": "position_partition", "eventTime": "event_time"}  # fmt: skip
"""Custom property of a column (`value: true`), or of the table (`value: <column>`) -> field of the contract."""
_TYPES = {
    "bigint": "long", "long": "long", "int": "int", "integer": "int", "smallint": "int", "boolean": "boolean",
    "bool": "boolean", "double": "double", "float": "float", "real": "float", "date": "date", "uuid": "uuid",
    "string": "string", "text": "string", "varchar": "string", "char": "string", "binary": "binary",
    "timestamptz": "timestamptz", "timestamp_ltz": "timestamptz", "timestamp with time zone": "timestamptz",
    "timestamp_ntz": "timestamp", "timestamp without time zone": "timestamp",
}  # fmt: skip
"""Physical type as engines write it -> Iceberg's word. A bare `timestamp` is not here: Spark means an instant by
it, Iceberg a time without zone."""
_OF_TABLE = {"lateAfter": "late_after", "checkpointEvery": "checkpoint_every"}
_OPEN = frozenset({"public", "open", "unclassified", "internal"})
"""Classifications (any case) whose values may be shown to responders; any other hides its column, known or not."""


def contract_of(file: Path, table: TableName) -> TableContract:
    """What the contract in `file` says of `table`. Raises BadConfiguration."""
    contract = read_contract(file)
    described = schema_of(contract, table, file)
    columns = described.properties or []
    for column in columns:
        if not column.name:
            raise bad_contract(
                file, "a property has no name.", "Expected a name for each column; found none.", "Name it."
            )
    promised: dict[str, object] = {
        "key": tuple(name_of(c) for c in sorted(columns, key=_key_place) if c.primaryKey),
        "redacted": tuple(name_of(c) for c in columns if _is_redacted(c)),
        "columns": tuple(ContractColumn(name=name_of(c), type=_type(c), required=bool(c.required)) for c in columns),
    }
    promised |= levels_of(contract.slaProperties or [], described, file)
    promised |= _durations(described, file)
    promised |= _columns_with_a_part(described, columns)
    try:
        return TableContract.model_validate(promised)
    except ValidationError as error:
        raise _not_one(file, error) from error


def merged(inline: TableContract, filed: TableContract) -> TableContract:
    """`filed`, with everything that `inline` says for itself in its place.

    Hidden columns are added to the file's: naming one more shows none. Only an empty list of them, which nobody writes
    by accident, shows all.
    """
    said = {name: getattr(inline, name) for name in inline.model_fields_set}
    if said.get("redacted"):
        said["redacted"] = tuple(dict.fromkeys((*filed.redacted, *inline.redacted)))
    return filed.model_copy(update=said)


def read_contract(file: Path) -> OpenDataContractStandard:
    """The whole file but its team, checked. Raises BadConfiguration."""
    try:
        contract = standard_of(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise bad_contract(
            file, "the data contract cannot be read.",
            f"Expected a readable YAML file in UTF-8; found {type(error).__name__}: {error}.",
            "Correct `contract_file` in the configuration, or make the file readable.",
        ) from error  # fmt: skip
    except (YAMLError, ValidationError) as error:
        raise _not_one(file, error) from error
    if contract.kind != "DataContract" or not str(contract.apiVersion or "").lstrip("v").startswith("3."):
        raise bad_contract(
            file, "this is another kind of contract.",
            f"Expected kind DataContract, apiVersion v3; found kind {contract.kind}, apiVersion {contract.apiVersion}.",
            "Write it in version 3 of the standard.",
        )  # fmt: skip
    return contract


def schema_of(contract: OpenDataContractStandard, table: TableName, file: Path) -> SchemaObject:
    """By physical name (with or without the catalog), else by name, else the only one."""
    objects = contract.schema_ or []
    tail = table.rsplit(".", 1)[-1]
    for wanted in (table, tail):
        for each in objects:
            names = [name for name in (each.physicalName, each.name) if name]
            if any(name == wanted or name.endswith(f".{wanted}") for name in names):
                return each
    if len(objects) == 1 and not objects[0].physicalName:
        return objects[0]
    found = ", ".join(str(each.physicalName or each.name) for each in objects) or "no schema at all"
    raise bad_contract(
        file, f"the contract does not describe {table}.",
        f"Expected a schema object with physicalName {table}; found {found}.",
        "Add it, or name another contract_file for this table.",
    )  # fmt: skip


def _columns_with_a_part(described: SchemaObject, columns: Iterable[SchemaProperty]) -> dict[str, object]:
    parts: dict[str, object] = {}
    for prop in described.customProperties or []:
        if prop.property in _OF_COLUMN and isinstance(prop.value, str):
            parts[_OF_COLUMN[prop.property]] = prop.value
    for column in columns:
        for prop in column.customProperties or []:
            if prop.property in _OF_COLUMN and _is_true(prop):
                parts[_OF_COLUMN[prop.property]] = name_of(column)
    return parts


def _durations(described: SchemaObject, file: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for prop in described.customProperties or []:
        if prop.property in _OF_TABLE:
            found[_OF_TABLE[prop.property]] = span_of(prop.value, "s", prop.property, file)
    return found


def _is_redacted(column: SchemaProperty) -> bool:
    """Named so, or classified as anything but open; a struct with one such part is hidden as a whole."""
    named = any(prop.property == "redacted" and _is_true(prop) for prop in column.customProperties or [])
    classified = bool(column.classification) and str(column.classification).strip().lower() not in _OPEN
    parts = [*(column.properties or []), *([column.items] if column.items else [])]
    return named or classified or any(_is_redacted(part) for part in parts)


def _is_true(prop: CustomProperty) -> bool:
    return prop.value is True or str(prop.value).lower() == "true"


def _key_place(column: SchemaProperty) -> int:
    place = column.primaryKeyPosition
    return place if place is not None and place >= 0 else 1_000_000


def _type(column: SchemaProperty) -> str | None:
    """Iceberg's word for the physical type; None (any will do) where it is not clear."""
    words = " ".join((column.physicalType or "").lower().split())
    if words.startswith(("decimal", "numeric")) and "(" in words:
        digits = [part.strip() for part in words[words.index("(") + 1 :].rstrip(")").split(",")]
        return f"decimal({digits[0]}, {digits[1] if len(digits) > 1 else 0})"
    return _TYPES.get(words.split("(")[0].strip())


def _not_one(file: Path, error: YAMLError | ValidationError) -> BadConfiguration:
    return bad_contract(
        file, "this is not a data contract.",
        f"Expected a contract of the Open Data Contract Standard; found: {_first_problem(error)}.",
        "Check it with a tool of the standard, then start again.",
    )  # fmt: skip


def _first_problem(error: YAMLError | ValidationError) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(str(part) for part in first['loc']) or 'the file'}: {first['msg']}"
    return str(error).splitlines()[0]
