"""Data contracts in the Open Data Contract Standard (v3), read as a table's promises, its team, and who is told.

Of the schema object: properties (name, physical type, `required`, `primaryKey`, `classification`), the custom
properties named below, and the service levels latency or freshness, frequency and retention. What a contract does not
say stays unsaid. Dates stay text, as the standard has them: YAML would make days of them, which its model refuses.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path

from open_data_contract_standard.model import (
    CustomProperty,
    OpenDataContractStandard,
    SchemaObject,
    SchemaProperty,
    ServiceLevelAgreementProperty,
    Support,
)
from open_data_contract_standard.model import Team as StandardTeam
from open_data_contract_standard.model import TeamMember as StandardMember
from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import YAMLError

from bot.incident.setup import Team, TeamMember
from bot.observation.contract import ContractColumn, TableContract
from bot.observation.errors import BadConfiguration, first_problem
from bot.observation.ids import TableName, UserId
from bot.observation.readers import Consumer, Untold
from bot.observation.sentences import visible


class _DatesAsText(SafeConstructor): ...


_DatesAsText.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def bad_contract(file: Path, happened: str, found: str, remedy: str) -> BadConfiguration:
    return BadConfiguration(f"{file}: {happened}", found, remedy)


def _loaded(file: Path) -> object:
    """Raises OSError, UnicodeDecodeError, YAMLError."""
    reader = YAML(typ="safe", pure=True)
    reader.Constructor = _DatesAsText
    return reader.load(file.read_text(encoding="utf-8"))


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
_DENSE = "positionIsDense"
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
    promised |= _custom(described, columns, file)
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
    """The whole file, checked. Raises BadConfiguration."""
    try:
        contract = OpenDataContractStandard.model_validate(_loaded(file))
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


def _custom(described: SchemaObject, columns: Iterable[SchemaProperty], file: Path) -> dict[str, object]:
    """What custom properties of the table, and of its columns, say. Raises BadConfiguration."""
    said = {prop.property: prop for prop in described.customProperties or [] if prop.property}
    found: dict[str, object] = {
        field: span_of(said[name].value, "s", name, file) for name, field in _OF_TABLE.items() if name in said
    }
    if _DENSE in said:
        found["position_is_dense"] = _is_true(said[_DENSE])
    found |= {_OF_COLUMN[n]: prop.value for n, prop in said.items() if n in _OF_COLUMN and isinstance(prop.value, str)}
    for column in columns:
        for prop in column.customProperties or []:
            if prop.property in _OF_COLUMN and _is_true(prop):
                found[_OF_COLUMN[prop.property]] = name_of(column)
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
    return first_problem(error, "the file") if isinstance(error, ValidationError) else str(error).splitlines()[0]


_SLACK_USER = re.compile(r"<?@?([UW][A-Z0-9]{6,})>?")
_NAMES_OF_IT = frozenset({"slack", "slackid", "slackuser", "slackuserid"})
"""Custom properties (any case, `-` and `_` aside) that hold a Slack user id."""
_LONGEST = 80


def team_of(file: Path) -> Team | None:
    """The contract's team, in either form of the standard; None: it names nobody. Raises BadConfiguration."""
    written = read_contract(file).team
    listed = (written.members if isinstance(written, StandardTeam) else written) or []
    members = tuple(_member(number, each, file) for number, each in enumerate(listed, start=1))
    name = (_shown(written.name) or _shown(written.id)) if isinstance(written, StandardTeam) else None
    return Team(name=name, members=members) if name or members else None


def _member(number: int, told: StandardMember, file: Path) -> TeamMember:
    name = _shown(told.name) or _shown(told.username) or _shown(told.id)
    custom = {re.sub("[-_]", "", each.property or "").lower(): each.value for each in told.customProperties or []}
    slack = next((str(custom[key]).strip() for key in sorted(_NAMES_OF_IT & custom.keys())), None)
    user = _SLACK_USER.fullmatch(slack if slack is not None else told.username or "")
    try:
        if name is None or (slack is not None and user is None):
            raise ValueError(f"name {name}, Slack user id {slack}")
        since, until = (date.fromisoformat(day[:10]) if day else None for day in (told.dateIn, told.dateOut))
    except ValueError as error:
        raise bad_contract(
            file, f"member {number} of `team` cannot be understood.",
            f"Expected a username, a Slack user id (`U…`) and days such as 2026-11-03; found: {error}.",
            "Write the member as the standard does.",
        ) from error  # fmt: skip
    return TeamMember(
        name=name, role=_shown(told.role), slack=UserId(user[1]) if user else None, since=since, until=until
    )


def _shown(text: str | None) -> str | None:
    return visible((text or "").strip())[:_LONGEST] or None


_SLACK_ID = re.compile(r"(?:^|/)([CG][A-Z0-9]{6,})(?:$|[/?#])")
_TOLD = frozenset({"", "announcements", "notifications"})
"""Scopes (any case) in which people expect to be told; in the others they ask."""


def announced_to(file: Path, *, has_mail: bool) -> tuple[tuple[Consumer, ...], tuple[Untold, ...]]:
    """(who can be told, channels of the contract that cannot be). `has_mail`: whether a mail server is configured.
    Raises BadConfiguration."""
    told: list[Consumer] = []
    others: list[Untold] = []
    contract: OpenDataContractStandard = read_contract(file)
    for support in contract.support or []:
        if (support.scope or "").lower() not in _TOLD:
            continue
        consumer = _consumer(support)
        if consumer is None or (consumer.email and not has_mail):
            name = support.channel or support.id or "a channel without a name"
            others.append(Untold(name=name, why=_why_not(support, consumer)))
        else:
            told.append(consumer)
    return tuple(told), tuple(others)


def once_each(consumers: Iterable[Consumer]) -> tuple[Consumer, ...]:
    """The first of each name, and nobody who is told at the very same places as one before: a contract may name the
    channel that the settings name, too."""
    found: dict[str, Consumer] = {}
    places: set[tuple[object, ...]] = set()
    for each in consumers:
        where = (each.channel, each.email, each.webhook, each.folder)
        if each.name not in found and (each.kind != "channel" or where not in places):
            found[each.name] = each
        places.add(where)
    return tuple(found.values())


def _consumer(support: Support) -> Consumer | None:
    name = re.sub(r"[/\r\n]+", "-", (support.channel or support.id or "").strip())[:80]
    tool, url = (support.tool or "").lower(), support.url or ""
    mail = url.removeprefix("mailto:").split("?")[0] if url.startswith("mailto:") else support.channel or ""
    slack = _SLACK_ID.search(url) or _SLACK_ID.search(support.channel or "")
    try:
        if tool in {"email", ""} and "@" in mail:
            return Consumer(name=name, kind="channel", email=(mail,))
        if tool in {"slack", ""} and slack is not None:
            return Consumer(name=name, kind="channel", channel=slack[1])
    except ValidationError:
        return None
    return None


def _why_not(support: Support, consumer: Consumer | None) -> str:
    if consumer is not None:
        return "it is notified by e-mail, and no mail server is configured"
    match (support.tool or "").lower():
        case "slack":
            return "the contract gives no Slack channel id for it"
        case "email":
            return "the contract gives no e-mail address for it"
        case "":
            return "the contract gives neither a Slack channel id nor an e-mail address for it"
        case tool:
            return f"Waterline has no way to {tool}"
