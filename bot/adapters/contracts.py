"""Data contracts in the Open Data Contract Standard (v3), read as a table's promises.

What is taken: the schema object of the table, its properties (name, physical type, `required`, `primaryKey`,
`classification`), custom properties named below, and the service levels latency or freshness,
frequency and retention. What a contract does not say stays unsaid.

The service levels of a data contract (`slaProperties`), read as promises of one table.

The text of a data contract -> the standard's own model, and its `team` as it was written; or what is wrong with it.

The team is kept out of the model: a member that is written unlike the standard says must not keep the promises of the
table from being read. Dates stay text, as the standard has them: YAML would make days of them, which its model refuses.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path

from open_data_contract_standard.model import (
    CustomProperty,
    OpenDataContractStandard,
    SchemaObject,
    SchemaProperty,
    ServiceLevelAgreementProperty,
)
from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError

from bot.domain.contract import ContractColumn, TableContract
from bot.domain.errors import BadConfiguration
from bot.domain.ids import TableName


class _DatesAsText(SafeConstructor):
    """Of YAML's own types all but the moment."""


_DatesAsText.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def standard_of(text: str) -> OpenDataContractStandard:
    """Everything but the team. Raises YAMLError, ValidationError."""
    content = _loaded(text)
    if isinstance(content, dict):
        content = {key: value for key, value in content.items() if key != "team"}
    return OpenDataContractStandard.model_validate(content)


def team_as_written(text: str) -> object:
    """Whatever stands under `team`; None where nothing does. Raises YAMLError."""
    content = _loaded(text)
    return content.get("team") if isinstance(content, dict) else None


def bad_contract(file: Path, happened: str, found: str, remedy: str) -> BadConfiguration:
    """The file, and what is wrong with it."""
    return BadConfiguration(f"{file}: {happened}", found, remedy)


def _loaded(text: str) -> object:
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _DatesAsText
    return reader.load(text)


_TERMS = {
    "latency": "freshness", "ly": "freshness", "freshness": "freshness",
    "frequency": "commit_every", "fy": "commit_every",
    "retention": "keep_snapshots", "re": "keep_snapshots",
}  # fmt: skip
"""Service level (any case, or its short form) -> what it promises here; latency is preferred to freshness."""
_UNITS = {"ms": 0.001, "millisecond": 0.001, "s": 1, "second": 1, "m": 60, "min": 60, "minute": 60,
          "h": 3600, "hour": 3600, "d": 86_400, "day": 86_400, "w": 604_800, "week": 604_800,
          "y": 31_536_000, "yr": 31_536_000, "year": 31_536_000}  # fmt: skip


def levels_of(terms: Sequence[ServiceLevelAgreementProperty], described: SchemaObject, file: Path) -> dict[str, object]:
    """Only those of the whole contract, or of an element of this table. Latency counts before freshness. Raises
    BadConfiguration."""
    levels: dict[str, object] = {}
    told = [term for term in terms if _is_of(term, described)]
    for term in sorted(told, key=lambda term: str(term.property).lower() in {"latency", "ly"}):
        field = _TERMS.get(str(term.property).lower())
        if field is not None:
            levels[field] = span_of(term.value, term.unit, str(term.property), file)
            column = next((each for each in _columns(term, described) if each), None)
            if field == "freshness" and column is not None:
                levels["event_time"] = column
    return levels


def span_of(value: object, unit: str | None, name: str, file: Path) -> timedelta | str:
    """A number with its unit; an ISO 8601 duration is left to the contract's own reading. Raises BadConfiguration."""
    if isinstance(value, str) and value.startswith("P"):
        return value
    word = (unit or "").lower()
    seconds = _UNITS.get(word.removesuffix("s") if len(word) > 2 else word)
    try:
        takes = timedelta(seconds=float(str(value)) * (seconds or 0))
    except (ValueError, OverflowError):
        takes = timedelta(0)
    if takes <= timedelta(0):
        raise bad_contract(
            file, f"the service level {name} cannot be understood.",
            f"Expected a number above 0 with a unit (ms, s, minutes, h, d, y); found {value!r}, unit {unit!r}.",
            "Correct value and unit.",
        )  # fmt: skip
    return takes


def name_of(column: SchemaProperty) -> str:
    """As the table has it."""
    return column.physicalName or column.name or ""


def _is_of(term: ServiceLevelAgreementProperty, described: SchemaObject) -> bool:
    return not term.element or bool(_columns(term, described))


def _columns(term: ServiceLevelAgreementProperty, described: SchemaObject) -> tuple[str, ...]:
    """What its elements name of this table, by the table's own names; empty for the table as a whole. Elements stand
    with commas between and may be of other tables, too."""
    names = {column.name: name_of(column) for column in described.properties or [] if column.name}
    found: list[str] = []
    for element in (each.strip() for each in (term.element or "").split(",")):
        for owner in {described.name, described.physicalName} - {None, ""}:
            if element == owner:
                found.append("")
            elif element.startswith(f"{owner}."):
                column = element.rsplit(".", 1)[-1]
                found.append(names.get(column, column))
    return tuple(found)


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
