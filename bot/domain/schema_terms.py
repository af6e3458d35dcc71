"""Where a table's columns differ from what its contract promises, and from what they were."""

from collections.abc import Sequence

from bot.domain.contract import ContractColumn, TableContract
from bot.domain.findings.promises import SchemaDifference
from bot.domain.table import Column

ABSENT = "no such column"


def contract_differences(columns: Sequence[Column], contract: TableContract) -> tuple[SchemaDifference, ...]:
    """Promised columns that the table lacks or has in another type. A column beyond the contract breaks no promise."""
    by_name = {column.name: column for column in columns}
    return tuple(
        SchemaDifference(
            column=promised.name,
            between=("contract", "table"),
            expected=promised.type or "any type",
            found=ABSENT if (there := by_name.get(promised.name)) is None else there.type,
        )
        for promised in contract.columns
        if not _keeps(promised, by_name.get(promised.name))
    )


def changes_between(earlier: Sequence[Column], now: Sequence[Column]) -> tuple[SchemaDifference, ...]:
    """Columns that were added, dropped, renamed or got another type; a column is known by its field id."""
    before, after = ({column.field_id: column for column in columns} for columns in (earlier, now))
    found = []
    for field_id in sorted(before.keys() | after.keys()):
        old, new = before.get(field_id), after.get(field_id)
        expected, seen = _in_words(old, new), _in_words(new, old)
        if expected != seen:
            name = (new or old or now[0]).name
            found.append(
                SchemaDifference(column=name, between=("earlier-table", "table"), expected=expected, found=seen)
            )
    return tuple(found)


def _keeps(promised: ContractColumn, there: Column | None) -> bool:
    if there is None:
        return False
    return promised.type is None or _bare(promised.type) == _bare(there.type)


def _bare(kind: str) -> str:
    """`decimal(12,2)` and `decimal(12, 2)` are one."""
    return "".join(kind.lower().split())


def _in_words(column: Column | None, other: Column | None) -> str:
    """Its type, with its name where the other side has another."""
    if column is None:
        return ABSENT
    return column.type if other is None or other.name == column.name else f"{column.type} named {column.name}"
