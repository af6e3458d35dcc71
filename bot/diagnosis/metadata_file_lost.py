"""F10: the catalog points to a metadata file, or the head to a manifest list, that cannot be read.

A writer that took its commit for failed and cleaned up deletes files that the catalog had accepted (facts F10).
"""

from bot.diagnosis._case import not_asked
from bot.domain.diagnosis import Act, CannotTell, Case, Examined, Excluded, Matches, Mode, Remedy
from bot.domain.findings import UnreadableFile
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.rewinds import flink_commits

MODE = Mode(
    code="F10",
    name="metadata_file_lost",
    title="metadata that the catalog points to is gone",
    needs=("unreadable_files",),
    false_positives=(
        "The bot may not read the metadata folder, while engines may: look with the engine's own rights.",
        "A storage outage: then nothing else can be read either.",
    ),
    neighbours={
        "F6": "There the newest metadata is readable and its history has the rollback; here it is lost, "
        "and what came after the older file is unknown.",
        "F9": "There metadata opens, and files that it names are gone; here the metadata file or a "
        "manifest list itself is.",
    },
    act=Act.MAKE_READABLE,
    remedies=(Remedy.RESTORE_METADATA, Remedy.REPAIR_UNREADABLE_FILES),
)


def examine(case: Case) -> Examined:
    """Matches when the table was read from an older metadata file, or a manifest list of a snapshot is gone."""
    table = case.observation.table
    lists = (
        tuple(f for f in case.unreadable.files if f.what in ("metadata", "manifest-list")) if case.unreadable else ()
    )
    if table.lost_metadata is not None:
        return _lost(case, table.lost_metadata, lists)
    if lists:
        return _unlisted(case, lists)
    if case.unreadable is None:
        return CannotTell(missing=(not_asked(case, "unreadable_files"),))
    return Excluded(
        reason=f"The catalog's metadata file was read, and no manifest list is missing among the "
        f"{case.unreadable.files_checked} files that were looked for."
    )


def _lost(case: Case, lost: str, lists: tuple[UnreadableFile, ...]) -> Matches:
    table = case.observation.table
    newest = next(reversed(flink_commits(table)), None)
    reasons = [
        f"The catalog points to {lost}, which cannot be read: no engine can open the table.",
        f"The newest metadata file that can be read is {table.metadata_location}; its head is {short(table.head)}.",
        "What was committed after that file is named only by the lost one: it is unknown here, not absent.",
    ]
    if newest is not None:
        reasons.append(
            f"The newest commit by Flink that is known is {short(newest.snapshot_id)}, checkpoint "
            f"{newest.checkpoint_id} of run {short_job(newest.job_id)}: a job that committed more must not go on from "
            "its own state against this older table."
        )
    reasons.append(
        "First look for the lost file among the storage's own versions: with it back, nothing else is to be done."
    )
    return Matches(
        headline=f"The table's metadata file is lost; the newest readable one ends at {short(table.head)}.",
        reasons=tuple(reasons),
        rows=tuple(f.snapshot_id for f in lists if f.snapshot_id is not None),
        last_good=_readable(case, lists),
        wrong_run=None,
        remedy=Remedy.RESTORE_METADATA,
    )


def _unlisted(case: Case, lists: tuple[UnreadableFile, ...]) -> Matches:
    table = case.observation.table
    commits = tuple(dict.fromkeys(f.snapshot_id for f in lists if f.snapshot_id is not None))
    is_head = table.head in commits or not commits
    last = _readable(case, lists)
    return Matches(
        headline=f"The manifest list of the head {short(table.head)} is gone: the table cannot be read."
        if is_head
        else f"The manifest lists of {len(commits)} older snapshots are gone; the head can be read.",
        reasons=(
            f"The first is {lists[0].path}: {lists[0].problem.rstrip('.')}.",
            f"Snapshots that cannot be read: {', '.join(short(c) for c in commits[:4]) or 'not told'}.",
            f"The newest snapshot on main whose manifest list is there is {short(last)}; going back to it is a "
            "rollback, so the job must be restored to the restore point that pairs with it."
            if is_head
            else "Reading by time travel, incremental reads and rollbacks to these snapshots fail.",
        ),
        rows=tuple(c for c in commits if c in table.by_id),
        last_good=last,
        wrong_run=None,
        remedy=Remedy.RESTORE_METADATA if is_head else Remedy.REPAIR_UNREADABLE_FILES,
    )


def _readable(case: Case, lists: tuple[UnreadableFile, ...]) -> SnapshotId | None:
    broken = {f.snapshot_id for f in lists}
    return next((s.snapshot_id for s in case.observation.table.chain if s.snapshot_id not in broken), None)
