"""The service levels of a data contract (`slaProperties`), read as promises of one table."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from open_data_contract_standard.model import SchemaObject, SchemaProperty, ServiceLevelAgreementProperty

from bot.adapters.contract_yaml import bad_contract

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
