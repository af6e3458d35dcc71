"""Commits of Iceberg's own maintenance in Flink that turn equality deletes into deletion vectors.

`ConvertEqualityDeletes` (apache/iceberg#15996, EqualityConvertCommitter) commits without Flink ids and names the
snapshot that it worked on in its summary. On the branch of the writer it adds vectors and removes equality deletes
(#17189); from a staging branch it brings the staged data files to main, with vectors in place of the deletes.
"""

from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState

_MARKER = "equality-convert-staging-snapshot"
_NOT_IN_PLACE = ("added-data-files", "deleted-data-files", "added-equality-delete-files")
_NOT_FROM_STAGING = ("deleted-data-files", "added-equality-delete-files")
_BROUGHT = ("added-data-files", "added-records")


def converted_from(snapshot: Snapshot) -> SnapshotId | None:
    """The snapshot whose equality deletes it converted; None for any other commit."""
    told = snapshot.summary.get(_MARKER, "")
    return SnapshotId(int(told)) if told.isdecimal() else None


def converts_in_place(table: TableState, snapshot: Snapshot) -> bool:
    """Whether every row is live after it that was live before: a commit of the job below it on the same line, worked on
    once, and no data file came or went."""
    source = converted_from(snapshot)
    if source is None or any(snapshot.counted(key) for key in _NOT_IN_PLACE):
        return False
    staged = table.by_id.get(source)
    return staged is not None and staged.job_id is not None and _is_first_upon(table, snapshot, source)


def brings_staged(table: TableState, snapshot: Snapshot) -> bool:
    """Whether it brings just the data files of the staged snapshot, once."""
    source = converted_from(snapshot)
    staged = table.by_id.get(source) if source is not None else None
    if staged is None or any(snapshot.counted(key) for key in _NOT_FROM_STAGING):
        return False
    below = {each.snapshot_id for each in _below(table, snapshot, staged)}
    same = all(snapshot.counted(key) == staged.counted(key) for key in _BROUGHT)
    return same and staged.snapshot_id not in below and _is_new(table, snapshot, staged)


def _is_first_upon(table: TableState, snapshot: Snapshot, source: SnapshotId) -> bool:
    """Whether `source` is an ancestor of it and no commit between converted the same one before. A conversion that
    comes again may take rows that were written anew."""
    for each in table.ancestors(snapshot.parent_id):
        if each.snapshot_id == source:
            return True
        if converted_from(each) == source:
            return False
    return False


def _is_new(table: TableState, snapshot: Snapshot, staged: Snapshot) -> bool:
    return all(converted_from(each) != staged.snapshot_id for each in _below(table, snapshot, staged))


def _below(table: TableState, snapshot: Snapshot, staged: Snapshot) -> list[Snapshot]:
    """Its ancestors that are not older than the staged snapshot: none below can have converted it."""
    found, oldest = [], table.place_of(staged.snapshot_id)
    for each in table.ancestors(snapshot.parent_id):
        if table.place_of(each.snapshot_id) < oldest:
            break
        found.append(each)
    return found
