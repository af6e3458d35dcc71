"""Commits of main that were expired, as older metadata files tell: expiry deletes snapshots, and leaves these files.

They are kept until so many newer ones were written, where `write.metadata.delete-after-commit.enabled` is set.
"""

from collections.abc import Callable, Iterable

from pyiceberg.exceptions import ValidationError as NotIceberg
from pyiceberg.io import FileIO
from pyiceberg.serializers import FromInputFile

from bot.adapters.iceberg.history import History
from bot.adapters.iceberg.lean_io import LeanFileIO, catching
from bot.domain.ids import SnapshotId
from bot.domain.snapshot import Snapshot
from bot.domain.table import TableState

_OPENED = 20
"""So many files are opened before it is given up; in practice it is the one from before the expiry."""
_NOT_THERE = (FileNotFoundError, NotIceberg, ValueError)
"""The file is not there, or is not a metadata file. A refused right or a dead connection says nothing of it."""


def expired_of_main(
    table: TableState, newest_first: Iterable[str], read: Callable[[str], History | None]
) -> tuple[Snapshot, ...]:
    """Ancestors of the oldest snapshot that main still lists, oldest first, down to the newest commit by Flink at
    least; only what a line of parents without a hole reaches. `newest_first`: locations of older metadata files.

    The line is followed in the older files alone: PyIceberg's expiry leaves no parent in the snapshots that stay.
    """
    oldest = table.chain[-1].snapshot_id if table.chain else None
    found: list[Snapshot] = []
    for _, location in zip(range(_OPENED), newest_first, strict=False):
        if oldest is None or any(each.job_id is not None and each.checkpoint_id is not None for each in found):
            break
        history = read(location)
        found += _below(history, oldest) if history is not None else []
        oldest = found[-1].snapshot_id if found else oldest
    return tuple(reversed(found))


def history_at(files: FileIO, location: str) -> History | None:
    """What grows with each commit, as this metadata file has it; None where the file is gone or is none. Raises what
    the storage raises."""
    lean = LeanFileIO(files.properties)
    try:
        with catching() as caught:
            FromInputFile.table_metadata(lean.new_input(location))
    except _NOT_THERE:
        return None
    return caught.get(location)


def _below(history: History, of: SnapshotId) -> list[Snapshot]:
    """Its ancestors without itself, newest first."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in history.snapshots}
    line: list[Snapshot] = []
    current = by_id.get(of)
    while current is not None:
        line.append(current)
        current = by_id.get(current.parent_id) if current.parent_id is not None else None
    return line[1:]
