"""The promised columns: that they are there, in their types, and that a required one is never null."""

from collections.abc import Collection, Sequence

from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.schema_terms import contract_differences
from bot.domain.table import Column

_SHOWN = 4


def column_terms(
    columns: Sequence[Column], contract: TableContract, left_null: Collection[str] = ()
) -> tuple[Finding, ...]:
    """None where the contract describes no column. `left_null`: columns that evidence found without any value."""
    if not contract.columns:
        return ()
    apart = contract_differences(columns, contract)
    told = "; ".join(f"{each.column}: promised {each.expected}, found {each.found}" for each in apart[:_SHOWN])
    there = _finding(
        "The table has every promised column.",
        f"{told}." if apart else "Each is there in the promised type.",
        not apart,
        "Bring the table's schema and the contract together.",
    )
    return (there, *_required(columns, contract, left_null))


def _required(columns: Sequence[Column], contract: TableContract, left_null: Collection[str]) -> tuple[Finding, ...]:
    """What the table itself refuses cannot be null; what it lets be null nobody has counted."""
    required = {column.name for column in contract.columns if column.required}
    there = [column for column in columns if column.name in required]
    if not there:
        return ()
    term = f"Never null: {_names([column.name for column in there])}."
    empty = [column.name for column in there if column.name in left_null]
    if empty:
        mend = "Let the job fill it, or do not promise that it is filled."
        return (_finding(term, f"The job leaves {_names(empty)} null in every row.", False, mend),)
    open_to_null = [column.name for column in there if not column.is_required]
    if open_to_null:
        observed = f"Not observed: the table lets {_names(open_to_null)} be null, and no evidence counts nulls."
        return (_finding(term, observed, None, "Make the column required in the table, so that null is refused."),)
    return (_finding(term, "The table refuses null there.", True, ""),)


def _names(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
    return ", ".join(columns[:_SHOWN]) + more


def _finding(term: str, observed: str, holds: bool | None, action: str) -> Finding:
    mend = "Nothing to do." if holds else action
    return Finding(contract="table", term=term, observed=observed, holds=holds, action=mend)
