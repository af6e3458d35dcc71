"""The data contracts of the tables, as files that people keep under review."""

from collections.abc import Sequence
from typing import Protocol

from bot.domain.contract import TableContract
from bot.domain.ids import TableName
from bot.domain.review_changes import ContractChange
from bot.domain.review_entries import ContractPatch


class Contracts(Protocol):
    """Reads them and proposes changes; never writes one."""

    def filed(self, table: TableName) -> TableContract | None:
        """What the table's file says now, without the configuration; None where it has no file. Raises
        BadConfiguration."""

    def patch(self, table: TableName, changes: Sequence[ContractChange]) -> ContractPatch | None:
        """These changes in the file's own lines, read again after they were applied; None where it has no file or
        nothing is asked for. Raises BadConfiguration."""
