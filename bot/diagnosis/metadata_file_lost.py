"""F10: the catalog points to a metadata file, or the head to a manifest list, that cannot be read.

A writer that took its commit for failed and cleaned up deletes files that the catalog had accepted (facts F10).
"""

from bot.diagnosis._support.case import not_asked
from bot.history.case import Case
from bot.history.starts import flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import COMMITS_TOLD, UnreadableFilesFinding
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.sentences import few

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
        "F6": "There the newest metadata is readable and its history has the rollback. Here it is lost, "
        "and what came after the older file is unknown.",
        "F9": "There metadata opens, and files that it names are gone. Here the metadata file or a "
        "manifest list itself is gone.",
        "F26": "There the catalog names a good file, which leaves a commit out. Here that file is gone.",
    },
    act=Act.MAKE_READABLE,
    remedies=(Remedy.RESTORE_METADATA,),
)
_LISTS = ("metadata", "manifest-list")
_OLDER = "restore these manifest lists from the storage's own versions, or expire the snapshots; the head can be read"
_ROWS = 20
"""So many snapshots are shown."""


def examine(case: Case) -> Examined:
    """Matches when the table was read from an older metadata file, or a manifest list of a snapshot is gone."""
    table, found = case.observation.table, case.unreadable
    if table.lost_metadata is not None:
        return _lost(case, table.lost_metadata)
    if found is not None and any(f.what in _LISTS for f in found.files):
        return _unlisted(case, found)
    if found is None:
        return CannotTell(missing=(not_asked(case, "unreadable_files"),))
    return Excluded(
        reason=f"The catalog's metadata file was read, and no manifest list is missing among the "
        f"{found.files_checked} files that were looked for."
    )


def _lost(case: Case, lost: str) -> Matches:
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
    broken = _broken(case.unreadable)
    last, why_none = _readable(case, broken) if broken else (table.head, "")
    if last is None:
        reasons.append(why_none)
    reasons.append(
        "First look for the lost file among the storage's own versions: with it back, nothing else is to be done."
    )
    return Matches(
        headline=f"The table's metadata file is lost; the newest readable one ends at {short(table.head)}.",
        reasons=tuple(reasons),
        rows=broken[:_ROWS],
        last_good=last,
        remedy=Remedy.RESTORE_METADATA,
    )


def _unlisted(case: Case, found: UnreadableFilesFinding) -> Matches:
    table, first = case.observation.table, next(f for f in found.files if f.what in _LISTS)
    commits = _broken(found)
    is_head = table.head in commits or not commits
    last, why_none = _readable(case, commits)
    back = (
        f"The newest snapshot on main whose manifest list is there is {short(last)}. Going back to it is a "
        "rollback, so the job must be restored to the restore point that pairs with it."
        if last is not None
        else why_none
    )
    older = "Reading by time travel, incremental reads and rollbacks to these snapshots fail."
    return Matches(
        headline=f"The manifest list of the head {short(table.head)} is gone: the table cannot be read."
        if is_head
        else f"The manifest lists of {_many(found, len(commits))}.",
        reasons=(
            f"The first is {first.path}: {first.problem.rstrip('.')}.",
            f"Snapshots that cannot be read: {few([short(each) for each in commits]) or 'not known'}.",
            *([] if is_head else [older]),
            *([back] if is_head or last is None else []),
        ),
        rows=tuple(c for c in commits if c in table.by_id)[:_ROWS],
        last_good=last,
        remedy=Remedy.RESTORE_METADATA,
        how=None if is_head else _OLDER,
    )


def _many(found: UnreadableFilesFinding, named: int) -> str:
    """Of how many snapshots: the newest are named first, and the head is not among them."""
    more = " or more" if _is_cut(found) else ""
    return f"{named}{more} older snapshots are gone; the head can be read"


def _broken(found: UnreadableFilesFinding | None) -> tuple[SnapshotId, ...]:
    """The snapshots whose manifest list is known to be gone, as far as they are named."""
    return found.lists if found is not None else ()


def _is_cut(found: UnreadableFilesFinding | None) -> bool:
    """Whether more manifest lists may be gone than are named."""
    return found is not None and len(found.lists) >= COMMITS_TOLD


def _readable(case: Case, broken: tuple[SnapshotId, ...]) -> tuple[SnapshotId | None, str]:
    """The newest snapshot on main whose manifest list was looked for and is there, or why none can be named."""
    table = case.observation.table
    first = next((s.snapshot_id for s in table.chain if s.snapshot_id not in broken), None)
    if first is None:
        return None, "No snapshot that is listed on main has its manifest list: none can be gone back to."
    if _is_cut(case.unreadable) and table.place_of(first) <= table.place_of(broken[-1]):
        return None, (
            "More manifest lists are gone than the record names: which snapshot still has its own is not known. "
            "Collect unreadable_files again, over a shorter window."
        )
    if first != table.head and first not in {s.snapshot_id for s in case.window.of(table)}:
        return None, (
            f"No snapshot of the window has its manifest list, and of those below it, from {short(first)} on, none was "
            "looked for: collect unreadable_files again, over a window that begins earlier."
        )
    return first, ""
