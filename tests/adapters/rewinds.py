"""The table's part of a rewind."""

from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from bot.ports import TableChange


def rewind(table: TableState, to: SnapshotId) -> TableChange:
    """The table's part of the rewind, as it is approved."""
    assert table.head is not None
    return TableChange(
        expected_uuid=table.uuid,
        expected_head=table.head,
        move_main_to=to,
        new_tags={"incident-1": table.head},
        set_tags={"waterline": to},
        set_properties={"waterline.status": "under-review"},
    )
