"""Where a table's columns differ from what its contract promises, from what they were, and from what a job writes."""

from collections.abc import Sequence

from bot.domain.contract import ContractColumn, TableContract
from bot.domain.findings.promises import SchemaDifference
from bot.domain.table import Column, TableState
from bot.domain.written import WrittenSchema

ABSENT = "no such column"
PARTITIONING = "(partitioning)"


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


def state_differences(written: WrittenSchema, table: TableState) -> tuple[SchemaDifference, ...]:
    """What the job writes if it goes on as its state has it, against the table as it is now: columns that only one of
    them has, with another id (dropped and added again), name, type or need of a value; and the partition spec."""
    before, after = ({column.field_id: column for column in columns} for columns in (written.columns, table.columns))
    again = {c.name for c in written.columns if c.field_id not in after} & {
        c.name for c in table.columns if c.field_id not in before
    }
    found = []
    for field_id in sorted(before.keys() | after.keys()):
        old, new = before.get(field_id), after.get(field_id)
        name = (new or old or table.columns[0]).name
        if name in again:
            if old is not None:
                now = next(c for c in table.columns if c.name == name)
                found.append(_of_state(name, _with_id(old), _with_id(now)))
        elif (expected := _with_need(old, new)) != (seen := _with_need(new, old)):
            found.append(_of_state(name, expected, seen))
    return (*found, *_spec_differences(written, table))


def lacking_in(written: WrittenSchema, table: TableState) -> tuple[str, ...]:
    """Columns of the table that the writer does not know."""
    known = {column.field_id for column in written.columns}
    return tuple(column.name for column in table.columns if column.field_id not in known)


def dropped_since(written: WrittenSchema, table: TableState) -> tuple[str, ...]:
    """Columns that the writer knows and the table no longer has, nor another one of their name."""
    ids, names = ({getattr(column, told) for column in table.columns} for told in ("field_id", "name"))
    return tuple(c.name for c in written.columns if c.field_id not in ids and c.name not in names)


def in_words(spec: Sequence[str]) -> str:
    """Fields of a partition spec as one text."""
    return ", ".join(spec) or "unpartitioned"


def _spec_differences(written: WrittenSchema, table: TableState) -> tuple[SchemaDifference, ...]:
    if written.spec_id is None:
        return ()
    here = table.specs.get(written.spec_id)
    fields = written.partitioning if written.partitioning is not None else here
    if here is None:
        told = f" ({in_words(fields)})" if fields is not None else ""
        return (_of_state(PARTITIONING, f"spec {written.spec_id}{told}", "no such spec"),)
    if fields is None or in_words(fields) == in_words(table.partitioning):
        return ()
    return (_of_state(PARTITIONING, in_words(fields), in_words(table.partitioning)),)


def _of_state(column: str, expected: str, found: str) -> SchemaDifference:
    return SchemaDifference(column=column, between=("state", "table"), expected=expected, found=found)


def _with_id(column: Column) -> str:
    return f"{column.type} with field id {column.field_id}"


def _with_need(column: Column | None, other: Column | None) -> str:
    """As `_in_words`, with whether it is required where the other side says otherwise."""
    told = _in_words(column, other)
    if column is None or (other.is_required if other is not None else False) == column.is_required:
        return told
    return f"{told}, {'required' if column.is_required else 'may be null'}"


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
