"""F9: files that the table or a checkpoint still needs were deleted from storage, most often by orphan cleanup.

A cleanup that is younger than the longest checkpoint takes files in flight for orphans (facts 1.7, F9). A file that is
there and cannot be decoded is told here as well.

Whether storage itself answers where not one data file of the table is there: then they were deleted.

Rights, a wrong scheme and an outage look the same, so it takes a witness: a listing of the table's data folder, made
after the files were looked for, that went through and has none of the files that the table names.
"""

from bot.diagnosis._support.asked import looked_later, unasked
from bot.diagnosis._support.case import living, not_asked, unseen
from bot.diagnosis._support.leaks import came_again
from bot.diagnosis._support.missing_manifest import Fate, MissingManifest, fate, is_back, missing_manifest
from bot.diagnosis._support.restoring import can_rewind_to, pair_with_head
from bot.diagnosis._support.wrong_rows import ALL_FILES, BRING_BACK, below_all, missing_now, missing_of_the_table
from bot.history.case import Case
from bot.history.staleness import met_files
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import (
    LeakedManifest,
    LeakStanding,
    MissingFilesFinding,
    UnreadableFile,
    UnreadableFilesFinding,
)
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.paths import below
from bot.observation.sentences import counted, few


def met_by_a_scan(case: Case) -> Matches | None:
    """What is missing before what is damaged; None where no task failed for a file."""
    if lost := met_files(case.evidence, "lost_file"):
        return _found_by_chance(lost)
    damaged = met_files(case.evidence, "damaged_file")
    return _damaged(damaged) if damaged else None


def _found_by_chance(unopened: dict[str, str]) -> Matches:
    path, task = next(iter(unopened.items()))
    return Matches(
        headline=f"{counted(len(unopened), 'file')} that the table names {'is' if len(unopened) == 1 else 'are'} not "
        "on storage: reads of the table fail.",
        reasons=(
            f"The first is {path}; {task} could not be finished without it.",
            "No commit of the window added it, so unreadable_files, which looks at the window's files, did not ask for "
            "it: run missing_files, which looks at all of the table and tells how many are gone, and of which commits.",
        ),
        remedy=Remedy.REPAIR_UNREADABLE_FILES,
    )


def _damaged(damaged: dict[str, str]) -> Matches:
    path, task = next(iter(damaged.items()))
    return Matches(
        headline=f"{counted(len(damaged), 'file')} that the table names {'is' if len(damaged) == 1 else 'are'} on "
        "storage and cannot be decoded: reads of the table fail.",
        reasons=(
            f"The first is {path}; {task} could not be finished for it.",
            "Name and size are right, and of a Parquet file the footer, so neither unreadable_files nor missing_files "
            "names it: restore it from the storage's own versions, or drop the reference to it.",
        ),
        remedy=Remedy.REPAIR_UNREADABLE_FILES,
    )


def hollow_leaks(case: Case) -> tuple[LeakedManifest, ...]:
    """Uncommitted manifests whose data files are gone; those that nothing will commit only where their rows were not
    read again."""
    waits = case.leaked.of(LeakStanding.PENDING) if case.leaked else ()
    lost = tuple(leak for leak in _never_to_come(case) if came_again(leak, case) is False)
    return tuple(leak for leak in (*waits, *lost) if leak.missing_files)


def in_doubt(case: Case) -> tuple[str, ...]:
    """Other manifests whose data files are gone, where nobody knows whether their rows were read again."""
    untold = case.leaked.of(LeakStanding.UNTOLD) if case.leaked and not _are_rows_there(case) else ()
    untold += tuple(leak for leak in _never_to_come(case) if came_again(leak, case) is None)
    files = sum(leak.missing_files for leak in untold)
    if not files:
        return ()
    said = f"{counted(files, 'data file')} of Flink manifests {'is' if files == 1 else 'are'} gone from storage"
    return (f"whether rows that were not committed have been read again: {said}",)


def _never_to_come(case: Case) -> tuple[LeakedManifest, ...]:
    return case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if case.leaked else ()


def _are_rows_there(case: Case) -> bool:
    return case.gaps is not None and case.gaps.missing == 0


def told(case: Case, hollow: tuple[LeakedManifest, ...]) -> Matches:
    alive = bool(living(case)) and any(leak.standing is LeakStanding.PENDING for leak in hollow)
    files = sum(leak.missing_files for leak in hollow)
    return Matches(
        headline=f"Gone from storage: {counted(files, 'data file')} of "
        f"{counted(len(hollow), 'uncommitted Flink manifest')}.",
        reasons=(
            f"The manifest {hollow[0].path} lists files that are no longer there: a cleanup took them for orphans.",
            "Should the sink still commit that manifest, the table names files that nobody can read: stop the job "
            "before its next commit."
            if alive
            else "Nothing of it is in the table; the rows can only be read again from the source.",
        ),
        last_good=case.observation.table.head,
        remedy=Remedy.REPLAY_SOURCE_RANGE,
    )


WITNESS = "orphan_files"
"""The task that lists the data folder, beside the metadata folder."""
_ELSEWHERE = ("write.data.path", "write.folder-storage.path", "write.object-storage.path")
"""Table properties that put data files outside of the table's own folder."""


def emptied(case: Case, looked: UnreadableFilesFinding | MissingFilesFinding) -> str | None:
    """A sentence that shows that storage answers and the files are gone; None: nothing shows it."""
    table, listed = case.observation.table, case.orphans
    than = "missing_files" if isinstance(looked, MissingFilesFinding) else "unreadable_files"
    if listed is None or listed.orphans < listed.files_listed or not looked_later(case, WITNESS, than):
        return None
    content = [file.path for file in looked.files if file.what in ("data", "deletes")]
    if any(table.properties.get(name) for name in _ELSEWHERE):
        return None
    if not content or any(below(path, table.location) is None for path in content):
        return None
    others = counted(listed.files_listed, "other file") if listed.files_listed else "no file at all"
    return (
        "Storage answers, so they are gone: the manifests that name them could be read, and a later listing of the "
        f"data folder shows {others} of that time."
    )


MODE = Mode(
    code="F9",
    name="cleanup_deleted_files",
    title="files that the table or a checkpoint needs are gone from storage",
    needs=("unreadable_files", "leaked_manifests", "checkpoint_pairing"),
    asks_for=(ALL_FILES, WITNESS),
    false_positives=(
        "Storage that lists late, or that the bot may not read: look at one of the files with another tool.",
        "An older file that is gone, which `unreadable_files` does not look for: run `missing_files`, which does.",
        "A file that expiry took while evidence was collected: ask again, of the table as it is then.",
        "A path that is written with another scheme or prefix than the table's folder.",
        "A data folder on a mount that is not there: its place is empty.",
    ),
    neighbours={},
    act=Act.MAKE_READABLE,
    remedies=(
        Remedy.REPAIR_UNREADABLE_FILES,
        Remedy.RESTORE_JOB_AT_HEAD,
        Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
        Remedy.REPLAY_SOURCE_RANGE,
    ),
)
_OF_THE_TABLE = ("manifest", "data", "deletes")
"""A lost metadata file or manifest list is F10."""
_ROWS = 20
"""So many commits are shown."""


def examine(case: Case) -> Examined:
    """Matches on missing files of the window, of a pending Flink manifest, or on such a manifest itself."""
    found = case.unreadable
    if (gone := _of_the_table(case, found)) is not None:
        return gone
    if (met := met_by_a_scan(case)) is not None:
        return met
    missing = missing_manifest(case)
    if missing is not None and fate(case, missing) is Fate.NEVER_SEEN:
        back = is_back(case, missing)
        if back is None:
            return CannotTell(missing=(_listing(case),))
        if not back:
            return _in_flight(case, missing)
    hollow = hollow_leaks(case)
    if hollow:
        return told(case, hollow)
    if isinstance(again := missing_now(case), CannotTell):
        return again
    lacking = [
        *([not_asked(case, "unreadable_files")] if found is None else []),
        *([not_asked(case, "leaked_manifests")] if case.leaked is None else []),
        *([unseen(case.observation.jobs)] if isinstance(case.observation.jobs, NotSeen) else []),
        *in_doubt(case),
    ]
    if found is None or lacking:
        return CannotTell(missing=tuple(lacking))
    return Excluded(
        reason=f"Of {found.files_checked} manifests, data and delete files {_of_window(case)}none is missing. No "
        "restart fails for a Flink manifest that was deleted without a commit."
    )


def _of_the_table(case: Case, found: UnreadableFilesFinding | None) -> Matches | CannotTell | None:
    """What was looked for by name: the window's files, and where somebody asked, all."""
    gone = tuple(f for f in found.files if f.what in _OF_THE_TABLE) if found else ()
    missing = missing_now(case)
    all_files = missing if isinstance(missing, MissingFilesFinding) else None
    gives_some = all_files is not None and all_files.content_checked > all_files.content_gone
    nothing = next((looked for looked in (all_files, found) if looked is not None and _gives_nothing(looked)), None)
    said = emptied(case, nothing) if nothing is not None and not gives_some else None
    if nothing is not None and not gives_some and said is None:
        asks = unasked(case, ALL_FILES, WITNESS) if all_files is None else unasked(case, WITNESS)
        return _nothing_there(nothing.content_checked, asks)
    if found and (gone or found.commits):
        told = _unreadable(case, found, gone)
    elif all_files is not None:
        told = missing_of_the_table(case, all_files)
    else:
        return None
    return told if said is None else told.model_copy(update={"reasons": (*told.reasons, said)})


def _gives_nothing(looked: UnreadableFilesFinding | MissingFilesFinding) -> bool:
    """Whether not one of several data and delete files is there, while the metadata that names them is."""
    return looked.content_checked > 1 and looked.content_gone >= looked.content_checked


def _nothing_there(files: int, asks: tuple[str, ...]) -> CannotTell:
    """A clean-up of what is young takes all files of a window, too: those of older commits then tell."""
    return CannotTell(
        missing=(
            f"the storage itself: none of the {files} data and delete files that were looked for is there. Rights, "
            "scheme or the storage are more likely than a deletion",
        ),
        asks=asks,
    )


def _of_window(case: Case) -> str:
    return "of the window " if case.window.since is not None else ""


def _listing(case: Case) -> str:
    listed = case.observation.flink_manifests
    return unseen(listed) if isinstance(listed, NotSeen) else listed.source


def _unreadable(case: Case, found: UnreadableFilesFinding, gone: tuple[UnreadableFile, ...]) -> Matches:
    table, commits = case.observation.table, found.commits
    kinds = ", ".join(
        f"{sum(1 for f in gone if f.what == k)} {k}" for k in _OF_THE_TABLE if any(f.what == k for f in gone)
    )
    known = case.missing_files.commits if case.missing_files is not None else ()
    reasons = [f"The first is {gone[0].path}: {gone[0].problem.rstrip('.')}."] if gone else []
    reasons += [
        f"Of {found.files_checked} files that were looked for, {found.count} cannot be read ({kinds or 'none of them'} "
        f"among the first {len(found.files)}); they were added by "
        f"{few([short(c) for c in commits]) or 'unknown commits'}.",
        f"Every query that touches them fails; {found.rows} rows are in the data files among them.",
    ]
    if any(f.what == "deletes" for f in gone):
        reasons.append(BRING_BACK)
    also = known if isinstance(missing_now(case), MissingFilesFinding) else ()
    if older := [each for each in also if each not in commits]:
        reasons.append(f"Files of {', '.join(short(each) for each in older[:4])} are not on storage either.")
    last = _below(case, found, (*commits, *known))
    reasons.append(_pin(last))
    return Matches(
        headline=f"{counted(found.count, 'file')} of the table cannot be read, with {counted(found.rows, 'row')}.",
        reasons=tuple(reasons),
        rows=tuple(c for c in commits if c in table.by_id)[:_ROWS],
        last_good=last,
        remedy=Remedy.REPAIR_UNREADABLE_FILES,
    )


def _below(case: Case, found: UnreadableFilesFinding, commits: tuple[SnapshotId, ...]) -> SnapshotId | None:
    """The newest snapshot below all of these commits whose own manifest list is there."""
    below = case.observation.table.ancestors(below_all(case, commits))
    return next((s.snapshot_id for s in below if s.snapshot_id not in found.lists), None)


def _pin(last: SnapshotId | None) -> str:
    if last is not None:
        return f"{short(last)} is the newest snapshot below them: pin readers to it until the files are back."
    return "No listed snapshot lies below them, so no older state can be read either."


def _in_flight(case: Case, missing: MissingManifest) -> Matches:
    pair = pair_with_head(case)
    head = case.observation.table.head
    if pair is not None:
        remedy = Remedy.RESTORE_JOB_AT_HEAD
        cure = f"{pair.path} (checkpoint {pair.checkpoint_id}) pairs with the head: from there nothing is lost."
    elif can_rewind_to(case, head) is not False:
        remedy = Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
        cure = (
            "Nobody has looked yet which restore points pair: one that pairs with the head spares the table."
            if case.pairing is None
            else "No restore point pairs with the head: table and job go back together to an older one."
        )
    else:
        remedy = Remedy.REPLAY_SOURCE_RANGE
        cure = "No restore point pairs with main: what the checkpoint held must be read again from the source."
    return Matches(
        headline=f"Run {short_job(missing.run)} cannot restart: the Flink manifest of checkpoint "
        f"{missing.checkpoint_id} was deleted before it was committed.",
        reasons=(
            f"The run failed {missing.times} times for {missing.name}, and the file is not on storage.",
            f"No listed snapshot holds checkpoint {missing.checkpoint_id} of run {short_job(missing.job_id)}, on main "
            "or rolled back: a cleanup took the file, or its commit was rolled back and has been expired since.",
            "How many rows it lists is not known, because nobody can read it any more.",
            cure,
        ),
        last_good=head,
        wrong_run=missing.run if remedy is Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB else None,
        remedy=remedy,
    )
