"""Commits tags and properties to a table whose writer goes on: a commit that surely did nothing is repeated."""

from collections.abc import Callable

from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.ids import TableName
from bot.domain.table import TableState
from bot.ports import TableCatalog, TableChange

_ATTEMPTS = 8


def commit_marks(
    catalog: TableCatalog, name: TableName, change: Callable[[TableState], TableChange | None]
) -> TableState | None:
    """The table after the commit of what `change` answers for the table as it is; None where it answers None.

    Only for changes that do not care where `main` is. Raises CommitRefused, CouldNotLook (each time anew),
    OutcomeUnknown.
    """
    for attempt in range(_ATTEMPTS):
        wanted = change(catalog.load(name))
        if wanted is None:
            return None
        try:
            return catalog.commit(name, wanted)
        except (CommitRefused, CouldNotLook):
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")
