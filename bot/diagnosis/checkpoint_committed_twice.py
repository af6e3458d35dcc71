"""F1: one checkpoint, or the very same files, were committed twice.

The catalog accepted a commit and its answer was lost; the sink took it for failed and committed again (facts F1).
"""

from bot.diagnosis._support.asked import checked_until
from bot.diagnosis._support.case import counted_anew, empty_starts, not_asked, run_of, time_in
from bot.diagnosis._support.restoring import can_rewind_to
from bot.diagnosis._support.turns import brought_by_fork
from bot.history.case import Case
from bot.history.starts import flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.file_changes import FORMATS_WRITTEN
from bot.observation.findings import DuplicateFilesFinding, RepeatedCommit
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId, short, short_job
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def repeated_since(case: Case) -> SnapshotId | None:
    """A commit with rows, newer than the evidence, under the checkpoint that another one of its run and sink bears; but
    for a start without state in between, with which ids count anew."""
    table = case.observation.table
    edge = table.place_of(checked_until(case, "duplicate_commits"))
    anew = {table.place_of(start.first) for start in empty_starts(case) if start.first is not None}
    seen: dict[tuple[JobId | None, OperatorId | None, CheckpointId | None], int] = {}
    for s in table.of_flink:
        place, key = table.place_of(s.snapshot_id), (s.job_id, s.operator_id, s.checkpoint_id)
        before = seen.get(key)
        if before is not None and s.adds_rows and place > edge and not any(before < each <= place for each in anew):
            return s.snapshot_id
        seen[key] = place
    return None


MODE = Mode(
    code="F1",
    name="checkpoint_committed_twice",
    title="the same checkpoint or the same files were committed twice",
    needs=("duplicate_commits", "duplicate_files"),
    false_positives=(
        "Flink CDC, which commits one checkpoint in several batches.",
        "A cherry-pick, which brings a staged commit a second time on purpose.",
        "The V1 sink started without state under a fixed job id: its checkpoint ids begin again with other rows.",
    ),
    neighbours={
        "F16": "There both rows of a key came in one commit. Here a second commit brought the rows of a "
        "first one again.",
        "F17": "There single keys have copies by different subtasks or in different partitions. Here whole "
        "checkpoints or files repeat.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.DROP_DUPLICATED_COMMIT, Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB, Remedy.DEDUPLICATE_ROWS),
)
_LOST_ANSWER = ("CommitStateUnknown", "ServiceUnavailable", "SocketTimeout", "CommitFailed")


def examine(case: Case) -> Examined:
    """Matches on a commit that repeats another one's checkpoint or files; a replayed source range is F2 or F13."""
    found = case.duplicate_commits
    same = [r for r in found.repeated if r.how != "same-source-range" and not r.is_cherry_pick] if found else []
    dropped = case.observation.table.taken_out
    same = [r for r in same if r.again not in dropped]
    files = case.duplicate_files
    outdated = _outdated(case)
    if outdated:
        return CannotTell(missing=outdated)
    by_fork = {s.snapshot_id for s in brought_by_fork(case)}
    again = {r.again for r in same} | set(files.again if files else ())
    if again and again <= by_fork:
        return Excluded(
            reason=f"{' and '.join(short(r) for r in sorted(again))} repeats a commit because a fork was restored from "
            "its checkpoint and brought it once more: a consequence of two jobs that write the table (F13)."
        )
    anew = [r for r in same if counted_anew(case, r)]
    same = [r for r in same if r not in anew]
    if same:
        return _by_commits(case, same)
    if files is not None and files.count:
        return _by_files(case, files)
    missing = [
        *([not_asked(case, "duplicate_commits")] if found is None else []),
        *([not_asked(case, "duplicate_files")] if files is None else []),
    ]
    if missing or found is None:
        return CannotTell(missing=tuple(missing))
    if (since := repeated_since(case)) is not None:
        told = f"{short(since)}, which is newer, bears the checkpoint of a commit before it"
        return CannotTell(missing=(f"duplicate_commits, once more: {told}",), asks=("duplicate_commits",))
    if dropped:
        return Excluded(
            reason=f"{' and '.join(short(s) for s in sorted(dropped))} was taken out of the table by a repair of ours."
        )
    if anew:
        one = anew[0]
        return Excluded(
            reason=f"{short(one.again)} carries checkpoint {one.checkpoint_id} as {short(one.first)} does, in other "
            "files: between them the job started without state under its old id and counts from 1 again. That is a "
            "replay (F15), not a commit made twice."
        )
    return Excluded(reason=_why_not(found.commits_checked, found.repeated))


def _outdated(case: Case) -> tuple[str, ...]:
    """The tasks whose copies main has lost since: what is there twice now, if anything, they do not tell."""
    commits, files, on_main = case.duplicate_commits, case.duplicate_files, case.observation.table.chain_ids
    told = {"duplicate_commits": [r.again for r in commits.repeated] if commits else []}
    told["duplicate_files"] = list(files.again) if files else []
    gone = {task: next((s for s in again if s not in on_main), None) for task, again in told.items()}
    return tuple(
        f"{task}, once more (commit {short(off)}, which it names, is no longer on main)"
        for task, off in gone.items()
        if off is not None
    )


def _why_not(checked: int, repeated: tuple[RepeatedCommit, ...]) -> str:
    picked = next((r for r in repeated if r.is_cherry_pick), None)
    if picked is not None:
        return f"{short(picked.again)} repeats {short(picked.first)}, but says that it was cherry-picked."
    ranged = next(iter(repeated), None)
    if ranged is not None:
        return (
            f"{short(ranged.again)} brings the source range of {short(ranged.first)} again, in other files: that is a "
            "replay (F2, F13), not a commit made twice."
        )
    return f"None of {counted(checked, 'commit')} repeats a checkpoint, and no file is live twice."


def _told(first: RepeatedCommit) -> str:
    what = "the very files" if first.how == "same-files" else f"checkpoint {first.checkpoint_id}"
    said = f"{short(first.again)} brings {what} of {short(first.first)} once more, with {counted(first.rows, 'row')}"
    if first.is_doubtful:
        return f"{said}, of which nothing tells how many the table had already."
    own = first.rows - first.rows_again
    return f"{said}, {own:,} of them its own." if own else f"{said}."


def _by_commits(case: Case, same: list[RepeatedCommit]) -> Matches:
    """Also of commits that only name a file of their own, or of a much older one, twice."""
    files, table = case.duplicate_files, case.observation.table
    named = {r.again for r in same} | (set(files.again if files else ()) - table.taken_out)
    again = tuple(s.snapshot_id for s in reversed(table.chain) if s.snapshot_id in named)
    by_file = sum(r.rows_again for r in same if r.how == "same-files")
    rows = sum(r.rows_again for r in same if r.how != "same-files") + max(by_file, files.extra_rows if files else 0)
    return _matches(case, same[0].first, again, _told(same[0]), rows, in_doubt=any(r.is_doubtful for r in same))


def _by_files(case: Case, files: DuplicateFilesFinding) -> Matches:
    one = files.files[0] if files.files else None
    are = "is" if files.count == 1 else "are"
    told = f"{counted(files.count, 'file')} {are} live more than once, {counted(files.extra_rows, 'row')} too many."
    if one is not None:
        told += f" The first, {one.path}, was added by {' and '.join(short(s) for s in one.snapshots[:4])}."
    first = one.snapshots[0] if one is not None and one.snapshots else None
    return _matches(case, first, files.again, told, files.extra_rows)


def _matches(
    case: Case, first: SnapshotId | None, again: tuple[SnapshotId, ...], told: str, rows: int, *, in_doubt: bool = False
) -> Matches:
    table = case.observation.table
    second = table.by_id.get(again[0]) if again else None
    last_good = second.parent_id if second is not None else None
    run = second.job_id if second is not None else None
    above = [s for s in flink_commits(table) if again and table.place_of(s.snapshot_id) > table.place_of(again[0])]
    remedy = _remedy(case, again, last_good, in_doubt=in_doubt)
    reasons = [told, *_lost_answer(case, run)]
    if remedy is Remedy.DROP_DUPLICATED_COMMIT:
        pairs = " Table and job still pair then." if _pairs_still(case, first, last_good) else ""
        reasons.append(
            f"What it brought again can be taken out alone, with {counted(len(above), 'commit')} by Flink above it "
            f"left as they are.{pairs}"
        )
    elif in_doubt:
        reasons.append(
            "Its own files cannot be taken out alone: beside the repeated rows they may hold others, which "
            "nothing else in the table holds."
        )
    else:
        reasons.append(
            "Its own files cannot be taken out alone: it or a commit above it has removed or rewritten files, so that "
            "its rows lie elsewhere by now."
        )
    return Matches(
        headline=f"{short(again[0]) if again else 'A commit'} repeats what {short(first)} had committed: "
        f"{'up to ' if in_doubt else ''}{counted(rows, 'row')} too many.",
        reasons=tuple(reasons),
        rows=tuple(s for s in dict.fromkeys((first, *again)) if s is not None and s in table.by_id),
        last_good=last_good,
        repeating=again,
        newest_wrong=max(again, key=table.place_of, default=None),
        wrong_run=run,
        remedy=remedy,
    )


def _pairs_still(case: Case, first: SnapshotId | None, parent: SnapshotId | None) -> bool:
    return first is not None and first in {s.snapshot_id for s in case.observation.table.ancestors(parent)}


def _remedy(case: Case, again: tuple[SnapshotId, ...], last_good: SnapshotId | None, *, in_doubt: bool) -> Remedy:
    """The repeat's own files go, wherever it lies; where its rows are in other files by now, or not all of them are
    surely too many, the job rewinds with the table, if it has a point to go to."""
    table = case.observation.table
    repeats = [table.by_id[commit] for commit in again if commit in table.chain_ids]
    lowest = min((table.place_of(s.snapshot_id) for s in repeats), default=0)
    since = [s for s in table.chain if table.place_of(s.snapshot_id) >= lowest]
    moved = [s for s in since if not s.is_repair and _takes_away(s)]
    if repeats and not moved and not in_doubt and table.format_version in FORMATS_WRITTEN:
        return Remedy.DROP_DUPLICATED_COMMIT
    return (
        Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB
        if can_rewind_to(case, last_good) and last_good
        else Remedy.DEDUPLICATE_ROWS
    )


def _takes_away(snapshot: Snapshot) -> bool:
    keys = ("deleted-data-files", "added-delete-files")
    return snapshot.operation != "append" or any(snapshot.counted(key) for key in keys)


def _lost_answer(case: Case, job: JobId | None) -> tuple[str, ...]:
    run = run_of(case, job)
    for failure in run.failures if run else ():
        text = " ".join((failure.exception, failure.message, *failure.causes))
        if any(word in text for word in _LOST_ANSWER):
            return (
                f"Run {short_job(job)} failed at {time_in(case, failure.at)} with {failure.exception}: the catalog's "
                "answer to a commit was lost.",
            )
    return ()
