"""Whether a commit is a change by anybody but Flink, told by its operation and counters; and who wrote it.

Commits of Iceberg's own maintenance in Flink that turn equality deletes into deletion vectors.

`ConvertEqualityDeletes` (apache/iceberg#15996, EqualityConvertCommitter) commits without Flink ids and names the
snapshot that it worked on in its summary. On the branch of the writer it adds vectors and removes equality deletes
(#17189); from a staging branch it brings the staged data files to main, with vectors in place of the deletes.
"""

from bot.observation.ids import SnapshotId, short_job
from bot.observation.snapshot import PICKED_FROM
from bot.observation.table import Snapshot, TableState

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
    below = _below(table, snapshot, staged)
    same = all(snapshot.counted(key) == staged.counted(key) for key in _BROUGHT)
    return same and all(staged.snapshot_id not in (each.snapshot_id, converted_from(each)) for each in below)


def _is_first_upon(table: TableState, snapshot: Snapshot, source: SnapshotId) -> bool:
    """Whether `source` is an ancestor of it and no commit between converted the same one before. A conversion that
    comes again may take rows that were written anew."""
    for each in table.ancestors(snapshot.parent_id):
        if each.snapshot_id == source:
            return True
        if converted_from(each) == source:
            return False
    return False


def _below(table: TableState, snapshot: Snapshot, staged: Snapshot) -> list[Snapshot]:
    """Its ancestors that are not older than the staged snapshot: none below can have converted it."""
    found, oldest = [], table.place_of(staged.snapshot_id)
    for each in table.ancestors(snapshot.parent_id):
        if table.place_of(each.snapshot_id) < oldest:
            break
        found.append(each)
    return found


_CHANGES = ("added-", "deleted-", "removed-")
_TOTALS = ("total-records", "total-data-files", "total-delete-files")
_DATA_FILES = ("added-data-files", "deleted-data-files", "added-records", "deleted-records")
_DELETE_FILES = ("added-delete-files", "removed-delete-files")
_REWROTE_MANIFESTS = "entries-processed"
"""What Iceberg counts of a `replace` that rewrote manifests and no file."""


def changes_rows_without_flink(table: TableState, snapshot: Snapshot) -> bool:
    """Whether it carries no Flink job id and changed which rows are live. A compaction does not, as long as it kept its
    rows; nor does a commit of nothing; an approved repair of ours is no other writer's."""
    return (
        snapshot.job_id is None
        and not snapshot.is_repair
        and not brings_nothing(table, snapshot)
        and not keeps_its_rows(table, snapshot)
    )


def keeps_its_rows(table: TableState, snapshot: Snapshot) -> bool:
    """Whether every row is live after it that was live before: it is a compaction (a `replace` that lost none), or it
    turned equality deletes into deletion vectors where they lay."""
    if snapshot.operation == "replace":
        return rows_lost_by_replacing(table, snapshot) == 0
    return converts_in_place(table, snapshot)


def brings_nothing(table: TableState, snapshot: Snapshot) -> bool:
    """Whether the commit counts no change, and totals as before: so the dynamic sink begins an empty table (seen with
    Iceberg 1.11). False where it counts no totals."""
    parent = table.by_id.get(snapshot.parent_id) if snapshot.parent_id is not None else None
    if any(snapshot.counted(key) for key in snapshot.summary if key.startswith(_CHANGES)):
        return False
    if snapshot.parent_id is not None and parent is None:
        return False
    return all(
        key in snapshot.summary and snapshot.counted(key) == (parent.counted(key) if parent else 0) for key in _TOTALS
    )


def rows_lost_by_replacing(table: TableState, snapshot: Snapshot) -> int:
    """Rows that a `replace` is known to have lost: it did not write them again, and all position deletes of before do
    not account for them. 0 where equality deletes may have been worked in, as nobody counts their rows, and where no
    counter tells; see `leaves_rows_open`."""
    gone, deleted = _not_written_again(table, snapshot), _deleted_before(snapshot)
    return 0 if deleted is None or gone is None else max(gone - deleted, 0)


def leaves_rows_open(table: TableState, snapshot: Snapshot) -> bool:
    """Whether a `replace` wrote fewer rows than it read, and the position deletes that it removed are not just as many:
    whether deletes that it left behind, or equality deletes, had taken these rows is not in the counters. Also where
    files were replaced, and none counts rows."""
    if snapshot.operation != "replace":
        return False
    gone = _not_written_again(table, snapshot)
    if gone is None:
        return counts_no_rows(table, snapshot)
    return gone > 0 and gone != snapshot.counted("removed-position-deletes")


def counts_no_rows(table: TableState, compaction: Snapshot) -> bool:
    """Whether it replaced files, as far as is known, and no counter tells how many rows were in them."""
    return _not_written_again(table, compaction) is None and _REWROTE_MANIFESTS not in compaction.summary


def _not_written_again(table: TableState, compaction: Snapshot) -> int | None:
    """Rows in its files of before, deleted ones too, less those in its own; None where no counter tells. 0 of one that
    rewrote delete files and no file with rows: Iceberg counts only what there is."""
    parent = table.by_id.get(compaction.parent_id) if compaction.parent_id is not None else None
    if "deleted-records" in compaction.summary:
        return compaction.counted("deleted-records") - compaction.counted("added-records")
    if parent is not None and "total-records" in parent.summary and "total-records" in compaction.summary:
        return parent.counted("total-records") - compaction.counted("total-records")
    is_of_deletes = any(map(compaction.counted, _DELETE_FILES)) and not any(map(compaction.counted, _DATA_FILES))
    return 0 if is_of_deletes else None


def _deleted_before(compaction: Snapshot) -> int | None:
    """The most rows that position deletes and deletion vectors had taken out of what the compaction read, whether it
    removed these or left them behind without a row to delete; None where equality deletes may have taken others. By its
    own totals, which tell also where its parent has expired."""
    counted = compaction.counted
    if "total-position-deletes" in compaction.summary:
        equality, position = (
            counted(f"total-{kind}") + counted(f"removed-{kind}") - counted(f"added-{kind}")
            for kind in ("equality-deletes", "position-deletes")
        )
        return None if equality else position
    if counted("removed-equality-deletes"):
        return None
    removed = counted("removed-position-deletes")
    uncounted = counted("removed-delete-files") or counted("removed-dvs")
    return None if uncounted and not removed else removed


def picked_from(snapshot: Snapshot) -> SnapshotId | None:
    """The snapshot that a cherry-pick copied; None for any other commit. A pick keeps no Flink ids, whoever wrote what
    it copied (facts 1.5)."""
    told = snapshot.summary.get(PICKED_FROM, "")
    return SnapshotId(int(told)) if told.isdecimal() else None


def origin_of(table: TableState, snapshot: Snapshot) -> Snapshot | None:
    """The commit that first held its changes: itself, or for a cherry-pick the source, through picks of picks, and for
    what maintenance brought from a staging branch the staged commit. None where that source is no longer listed."""
    found: Snapshot | None = snapshot
    passed: set[SnapshotId] = set()
    while found is not None and (source := picked_from(found)) is not None:
        passed.add(found.snapshot_id)
        found = table.by_id.get(source) if source not in passed else None
    staged = converted_from(found) if found is not None else None
    if found is None or staged is None:
        return found
    return table.by_id.get(staged) if staged not in table.by_id or brings_staged(table, found) else found


def described_by(table: TableState, snapshot: Snapshot) -> Snapshot | None:
    """The commit whose summary says whose its rows are: itself, or for a cherry-pick by hand its source, as a pick
    keeps no keys, neither Flink's nor those of a repair. None where that source is no longer listed."""
    return origin_of(table, snapshot) if snapshot.is_pick and not snapshot.is_published else snapshot


def name_of(snapshot: Snapshot) -> str:
    """The writer as the summary tells: `spark application local-17`, `Flink run 3f2a11`, `an unknown writer`."""
    if snapshot.job_id is not None:
        return f"Flink run {short_job(snapshot.job_id)}"
    application = snapshot.summary.get("spark.app.id") or snapshot.summary.get("app-id")
    if application:
        return f"{snapshot.engine} application {application}"
    return "an unknown writer" if snapshot.engine == "unknown" else snapshot.engine
