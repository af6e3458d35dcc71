"""Which columns older files and states hold under the name and in the type that they have now."""

from collections.abc import Collection, Iterable

from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.table import Column, TableState
from spark_tasks._reading import columns_at, may_become


def renamed(table: TableState, names: Collection[str]) -> tuple[NotSeen, ...]:
    """A NotSeen for each column whose name meant another column once, or the same in a type that is no narrower one, or
    whose value the table gives where a file lacks it: its old files cannot be read by name."""
    now = {each.name: each for each in table.columns}
    once = [each for columns in table.schemas.values() for each in columns]
    told = ((name, _of_before(now[name], once)) for name in names)
    return tuple(
        NotSeen(
            source=f"column {name} of {table.name}",
            reason=f"Column {name} {was}.",
            remedy="Compare the states with a query of your own.",
        )
        for name, was in told
        if was is not None
    )


def _of_before(column: Column, once: Iterable[Column]) -> str | None:
    """What older files may hold it as, the end of a sentence; None: as itself."""
    if column.has_default:
        return "was added with a default, which rows of files without it have, and these files do not tell it"
    for each in once:
        if (each.name == column.name) != (each.field_id == column.field_id):
            return "was renamed, or replaces another column of this name, so older files hold it under another name"
        if each.field_id == column.field_id and not may_become(each.type, column.type):
            return f"was {each.type} and is {column.type}, so older files hold it as what cannot be read as that"
    return None


def names_at(table: TableState, snapshot: SnapshotId) -> list[str]:
    """Present columns that the snapshot's own schema has too, in the present order."""
    known = {each.field_id: each.name for each in columns_at(table, snapshot) or table.columns}
    return [each.name for each in table.columns if known.get(each.field_id) == each.name]


def added_since(table: TableState, snapshot: SnapshotId | None, names: Collection[str]) -> tuple[NotSeen, ...]:
    """A NotSeen for each column that the table did not have at the snapshot: older rows cannot be told by it."""
    there = columns_at(table, snapshot) if snapshot is not None else None
    if there is None:
        return ()
    known, ids = {each.field_id for each in there}, {each.name: each.field_id for each in table.columns}
    return tuple(
        NotSeen(
            source=f"column {name} of {table.name}",
            reason=f"Column {name} was added after the window begins, so rows from before have no value in it: whether "
            "the window repeats one of them is not known.",
            remedy="Ask again with a window that begins after the column was added; compare what came before it with a "
            "query of your own.",
        )
        for name in names
        if name in ids and ids[name] not in known
    )
