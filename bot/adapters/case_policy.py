"""Which values of rows may leave the machine in a saved case: none but positions and times of events, unless asked.

With `--values` all may but those of the columns that the table's contract redacts.
"""

from bot.adapters.manifest_cutting import without_bounds
from bot.domain.contract import TableContract
from bot.domain.table import TableState, transform_and_column

_TELLS_NOTHING = frozenset({"bucket", "void"})


class RowValues:
    """The rule for one table."""

    def __init__(self, table: TableState, contract: TableContract, *, with_values: bool) -> None:
        self._contract = contract
        self._with_values = with_values
        listed = [column for columns in (table.columns, *table.schemas.values()) for column in columns]
        self._kept = {column.field_id for column in listed if self._may_leave(column.name)}
        self._kept -= {column.field_id for column in listed if not self._may_leave(column.name)}
        self._known = {column.field_id for column in listed}
        self._partitioned_by = sorted(
            {field for fields in (table.partitioning, *table.specs.values()) for field in fields}
        )

    @property
    def why_no_manifest(self) -> str | None:
        """Why none may leave: partitions are values of rows, and the paths of data files hold them."""
        for told in self._partitioned_by:
            transform, column = transform_and_column(told)
            if transform not in _TELLS_NOTHING and not self._may_leave(column):
                asked = "" if self._contract.hides(column) else "; --values keeps them"
                return f"the table is partitioned by {told}, so they hold values of rows{asked}"
        return None

    def cut(self, manifest: bytes) -> bytes:
        """The manifest without the bounds of every column that may not leave. Raises CannotBeCut."""
        return without_bounds(manifest, self._keeps)

    def _keeps(self, field_id: int) -> bool:
        """A field within another is known by its own id only, so it goes unless nothing is redacted at all."""
        if field_id in self._known:
            return field_id in self._kept
        return self._with_values and not self._contract.redacted

    def _may_leave(self, column: str) -> bool:
        contract = self._contract
        if contract.hides(column):
            return False
        return self._with_values or column in {contract.position, contract.position_partition, contract.event_time}
