"""One change of a data contract -> one edit of its text, and whether the text says it afterwards."""

from datetime import timedelta
from pathlib import Path
from typing import assert_never

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap

from bot.adapters.contract_yaml import standard_of
from bot.adapters.contracts import schema_of
from bot.adapters.yaml_lines import with_item, with_key, with_list, with_value, word
from bot.domain.contract import TableContract
from bot.domain.ids import TableName
from bot.domain.review_changes import (
    ContractChange,
    PromiseColumn,
    PromiseKey,
    PromisePart,
    PromiseSpan,
    PromiseType,
)

_LEVELS = {"commit_every": "frequency", "keep_snapshots": "retention"}
_PARTS = {"position": "sourcePosition", "position_partition": "sourcePartition", "event_time": "eventTime"}
_LOGICAL = {"int": "integer", "long": "integer", "boolean": "boolean", "date": "date", "string": "string",
            "uuid": "string", "timestamp": "timestamp", "timestamptz": "timestamp", "struct": "object", "map": "object",
            "list": "array", "double": "number", "float": "number", "decimal": "number"}  # fmt: skip
"""First word of an Iceberg type -> logical type of the standard."""
_UNITS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "minutes"))


def edited(text: str, change: ContractChange, table: TableName, file: Path) -> str:
    """The text with the change. Raises ValueError, YAMLError or BadConfiguration where its form does not allow it."""
    root, schema = _parsed(text, table, file)
    match change:
        case PromiseSpan(of="checkpoint_every"):
            return _with_custom(text, schema, "checkpointEvery", word(_iso(change.takes)))
        case PromiseSpan():
            value, unit = _counted(change.takes)
            item = f"{{property: {_LEVELS[change.of]}, value: {value}, unit: {unit}, element: {word(_owner(schema))}}}"
            levels = root.get("slaProperties")
            return with_item(text, levels, item) if levels else with_list(text, "slaProperties", item)
        case PromiseKey():
            return _with_the_key(text, change.columns, table, file)
        case PromisePart():
            return _with_custom(text, _column(schema, change.column), _PARTS[change.part], "true")
        case PromiseType():
            column, kind = _column(schema, change.column), word(_physical(change.type))
            if "physicalType" in column:
                return with_value(text, column, "physicalType", kind)
            return with_key(text, column, f"physicalType: {kind}")
        case PromiseColumn():
            logical = _LOGICAL.get(change.type.split("(")[0].split("<")[0], "string")
            kind = word(_physical(change.type))
            rest = ", required: true" if change.required else ""
            item = f"{{name: {word(change.column)}, logicalType: {logical}, physicalType: {kind}{rest}}}"
            return with_item(text, schema["properties"], item)
        case _:
            assert_never(change)


def holds(change: ContractChange, before: TableContract, after: TableContract) -> bool:
    """Whether the contract says the change now, and nothing else than before."""
    field: str
    match change:
        case PromiseSpan():
            field, says = change.of, getattr(after, change.of) == change.takes
        case PromiseKey():
            field, says = "key", after.key == change.columns
        case PromisePart():
            field, says = change.part, getattr(after, change.part) == change.column
        case PromiseType() | PromiseColumn():
            there = {column.name: column.type for column in after.columns}
            others = {column.name: column.type for column in before.columns if column.name != change.column}
            says = change.column in there and there[change.column] in (None, change.type)
            field, says = "columns", says and others == {n: t for n, t in there.items() if n != change.column}
        case _:
            assert_never(change)
    return says and before.model_copy(update={field: getattr(after, field)}) == after


def in_words(change: ContractChange) -> str:
    """What is promised from then on, and why."""
    match change:
        case PromiseSpan():
            what = f"Promise {change.of.replace('_', ' ')} {_iso(change.takes)}"
        case PromiseKey():
            what = f"Promise the key {', '.join(change.columns)}"
        case PromisePart():
            what = f"Name {change.column} as {change.part.replace('_', ' ')}"
        case PromiseType():
            what = f"Promise {change.column} as {change.type}"
        case PromiseColumn():
            what = f"Describe {change.column} as {change.type}"
        case _:
            assert_never(change)
    return f"{what}. {change.why}"


def _parsed(text: str, table: TableName, file: Path) -> tuple[CommentedMap, CommentedMap]:
    """(the document, the schema object of the table), with the places of their lines."""
    root = YAML(typ="rt", pure=True).load(text)
    contract = standard_of(text)
    described = schema_of(contract, table, file)
    place = next(n for n, each in enumerate(contract.schema_ or []) if each is described)
    return root, root["schema"][place]


def _column(schema: CommentedMap, name: str) -> CommentedMap:
    for column in schema.get("properties") or []:
        if isinstance(column, CommentedMap) and name == (column.get("physicalName") or column.get("name")):
            return column
    raise ValueError(f"no column {name}")


def _with_custom(text: str, owner: CommentedMap, name: str, value: str) -> str:
    item = f"{{property: {name}, value: {value}}}"
    there = owner.get("customProperties")
    return with_item(text, there, item) if there else with_key(text, owner, f"customProperties: [{item}]")


def _with_the_key(text: str, key: tuple[str, ...], table: TableName, file: Path) -> str:
    """Every column of the key gets its place; any other loses `primaryKey`. One edit moves the lines of the next."""
    _root, schema = _parsed(text, table, file)
    wanted: list[tuple[str, str, str]] = [(c, "primaryKey", "true") for c in key]
    if len(key) > 1:
        wanted += [(column, "primaryKeyPosition", str(place)) for place, column in enumerate(key, start=1)]
    for column in schema.get("properties") or []:
        name = column.get("physicalName") or column.get("name")
        if column.get("primaryKey") and name not in key:
            wanted.append((name, "primaryKey", "false"))
    for name, entry, value in wanted:
        column = _column(_parsed(text, table, file)[1], name)
        if str(column.get(entry)).lower() == value:
            continue
        is_there = entry in column
        text = with_value(text, column, entry, value) if is_there else with_key(text, column, f"{entry}: {value}")
    return text


def _owner(schema: CommentedMap) -> str:
    return str(schema.get("name") or schema.get("physicalName"))


def _physical(iceberg: str) -> str:
    """As engines and this reader write it: a bare `timestamp` says different things to different engines."""
    return "timestamp_ntz" if iceberg == "timestamp" else iceberg


def _counted(takes: timedelta) -> tuple[int, str]:
    for size, unit in _UNITS:
        if takes >= size and takes % size == timedelta(0):
            return takes // size, unit
    return round(takes.total_seconds()), "s"


def _iso(takes: timedelta) -> str:
    value, unit = _counted(takes)
    return f"P{value}D" if unit == "d" else f"PT{value}{ {'h': 'H', 'minutes': 'M', 's': 'S'}[unit] }"
