"""Commits tags and properties to a table whose writer goes on: a commit that surely did nothing is repeated."""

from collections.abc import Callable

import stamina

from bot.domain.errors import CommitRefused, CouldNotLook
from bot.domain.ids import TableName
from bot.domain.table import TableState
from bot.ports import TableCatalog, TableChange


@stamina.retry(on=(CommitRefused, CouldNotLook), attempts=8, timeout=20, wait_initial=0.05, wait_jitter=0.1)
def commit_marks(
    catalog: TableCatalog, name: TableName, change: Callable[[TableState], TableChange | None]
) -> TableState | None:
    """The table after the commit of what `change` answers for the table as it is; None where it answers None.

    Only for changes that do not care where `main` is. Tried up to eight times within 20 s, with longer and longer waits
    in between. Raises CommitRefused, CouldNotLook (each time anew), OutcomeUnknown.
    """
    wanted = change(catalog.load(name))
    return None if wanted is None else catalog.commit(name, wanted)
