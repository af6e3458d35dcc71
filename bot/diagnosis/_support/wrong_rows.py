"""What evidence found that speaks against the rows: doubled, missing, to come, dropped, unreadable, unwritten."""

from bot.diagnosis._support.asked import answers, checked_until, gave_nothing, lacking, looked_later, unasked, why_again
from bot.diagnosis._support.case import counted_anew, in_window, not_asked, untold_rewinds_in
from bot.diagnosis._support.upsert import why_upsert
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs
from bot.history.starts import Rewind
from bot.incident.diagnosis import CannotTell, Matches, Remedy
from bot.observation.findings import MissingFilesFinding
from bot.observation.ids import JobId, SnapshotId, short, short_job
from bot.observation.sentences import counted, few

_TOLD = 20
"""So many commits at most does the finding name."""
BRING_BACK = "Among them are delete files: dropping the reference would bring deleted rows back."
ALL_FILES = "missing_files"
"""The task that looks for every file of the table."""


def missing_now(case: Case) -> MissingFilesFinding | CannotTell | None:
    """What `missing_files` accuses the table of, if that still holds: another commit may have dropped the references
    since, and files come back without a commit. Else what is to be asked again; None: it accuses of nothing."""
    found = case.missing_files
    if found is None:
        if not gave_nothing(case, ALL_FILES):
            return None
        return CannotTell(missing=(not_asked(case, ALL_FILES),), asks=unasked(case, ALL_FILES))
    if not found.count:
        return None
    again = why_again(case, ALL_FILES)
    if again is None and _were_read_later(case, found):
        again = "unreadable_files has found every file of these commits since."
    if again is None:
        return found
    were = "file was" if found.count == 1 else "files were"
    said = f"{ALL_FILES}, once more ({again.rstrip('.')}; then {found.count} {were} missing)"
    return CannotTell(missing=(said,), asks=(ALL_FILES,))


def _were_read_later(case: Case, found: MissingFilesFinding) -> bool:
    """Whether a later look at the window's files, which are those of all these commits, missed none of them."""
    if case.unreadable is None or case.unreadable.count or not looked_later(case, "unreadable_files", ALL_FILES):
        return False
    return set(found.commits) <= {s.snapshot_id for s in in_window(case)} and len(found.commits) < _TOLD


def missing_of_the_table(case: Case, found: MissingFilesFinding) -> Matches:
    """What `missing_files` found, which has looked at all of the table."""
    last = below_all(case, found.commits)
    first, commits = found.files[0], found.commits
    reasons = [
        f"The first is {first.path}, a {first.what} file.",
        f"Of {found.files_checked} files that were looked for, {found.count} are not on storage; they were added by "
        f"{few([short(each) for each in commits])}.",
        f"Every query that touches them fails; {found.rows} rows are in the data files among them.",
    ]
    if any(file.what == "deletes" for file in found.files):
        reasons.append(BRING_BACK)
    reasons += [_readable(last), _repair(case, found)]
    return Matches(
        headline=f"{counted(found.count, 'file')} that the table names, with {counted(found.rows, 'row')}, "
        f"{'is' if found.count == 1 else 'are'} not on storage.",
        reasons=tuple(reasons),
        rows=tuple(each for each in commits if each in case.observation.table.by_id),
        last_good=last,
        remedy=Remedy.REPAIR_UNREADABLE_FILES,
    )


def below_all(case: Case, commits: tuple[SnapshotId, ...]) -> SnapshotId | None:
    """The newest snapshot on main that came before all of these commits: files are referenced from their commit on.
    None where there is none, or where one of them is no longer on main, so that every listed snapshot may have it."""
    table = case.observation.table
    if not commits or not set(commits) <= table.chain_ids:
        return None
    oldest = max(at for at, each in enumerate(table.chain) if each.snapshot_id in commits)
    return table.chain[oldest + 1].snapshot_id if oldest + 1 < len(table.chain) else None


def _readable(last: SnapshotId | None) -> str:
    if last is None:
        return "No listed snapshot is known to lie below them, so no older state can be read either."
    return f"{short(last)} is the newest snapshot below them: pin readers to it until the files are back."


def _repair(case: Case, found: MissingFilesFinding) -> str:
    is_told = found.count <= len(found.files) or set(found.commits) <= case.observation.table.by_id.keys()
    if not is_told:
        return (
            "They are too many to be named, and a commit that added some of them is no longer listed: look for the "
            "files among the storage's own versions."
        )
    return "A repair takes out the data files among them, whatever commit they are of, and states the rows of each."


def repeats_unexplained(case: Case) -> CannotTell | None:
    """What is missing where two commits cover the same source positions and no key lives twice: an upsert replaced
    the rows, or the copies have different keys. Asks for `replayed_rows`, which tells. Of two that carry one checkpoint
    because the ids began at 1 again it is the source range, or as many rows, that names them."""
    repeats = case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
    covers_again = (r for r in repeats if r.how == "same-source-range" or counted_anew(case, r))
    repeated = next(covers_again, None)
    if repeated is None or why_upsert(case) is not None:
        return None
    said = (
        f"{short(repeated.again)} covers source positions of {short(repeated.first)} again, though no key lives twice"
    )
    if missing := lacking(case, "replayed_rows", whole=True):
        return CannotTell(missing=(f"{missing[0]}: {said}",), asks=unasked(case, "replayed_rows"))
    if case.replayed is not None and case.replayed.replayed:
        return CannotTell(missing=(f"why {case.replayed.replayed} rows are there again under other keys: {said}",))
    return None


def copies_unexplained(case: Case) -> CannotTell | None:
    """What is missing where a commit of the job in the window brought rows again, or may have, and no mode names how: a
    run went back, which nothing shows any more. None: none did, or the source gave them twice."""
    if why_upsert(case) is not None:
        return None
    other_jobs, inside = OtherJobs(case), {commit.snapshot_id for commit in in_window(case)}
    for pair in case.duplicates.pairs if case.duplicates is not None else ():
        again = case.observation.table.by_id.get(pair.second)
        is_meant = again is None or (
            again.snapshot_id in inside and again.job_id is not None and not other_jobs.has(again)
        )
        if pair.first != pair.second and is_meant and overlap(case, pair.first, pair.second) is not False:
            return CannotTell(
                missing=(
                    f"why {short(pair.second)} brought keys of {short(pair.first)} again: Flink lists only the newest "
                    "start of a job id, so look in the JobManager's log",
                )
            )
    return repeats_unexplained(case)


def is_replayed(case: Case, commit: SnapshotId, earlier: JobId) -> bool:
    """Whether keys of the earlier run's commits live again in the new run's first commit, as far as is known from the
    same source positions: else the source gave them twice."""
    by_id = case.observation.table.by_id
    return any(
        pair.second == commit
        and (one := by_id.get(pair.first)) is not None
        and one.job_id == earlier
        and overlap(case, pair.first, pair.second) is not False
        for pair in (case.duplicates.pairs if case.duplicates is not None else ())
    )


def overlap(case: Case, first: SnapshotId, second: SnapshotId) -> bool | None:
    """Whether the later commit begins below where the earlier one ends in the source; None: bounds of several source
    partitions together tell nothing, nor do those that are not known."""
    rows = {row.snapshot_id: row for row in (case.ledger.main if case.ledger else ())}
    one, other = rows.get(first), rows.get(second)
    if one is None or other is None or case.contract.position_partition is not None:
        return None
    until, begins = one.position_until, other.position_from
    return None if until is None or begins is None else begins <= until


def open_rewinds(case: Case) -> tuple[Rewind, ...]:
    """Those that nothing has settled: what a run read again lives twice from its first commit on, but in a table that
    is written by key, so a look that holds and found no key twice shows that it read nothing again."""
    return tuple(r for r in untold_rewinds_in(case) if not _repeats_nothing(case, r))


def whose_run(rewind: Rewind) -> str:
    """What is missing to know whether it is one."""
    run, other = short_job(rewind.run), short_job(rewind.only_if_of_job)
    whence = f", restored from {rewind.restored}," if rewind.restored is not None else ""
    settles = (
        "its next commit and `duplicate_rows` settle it" if rewind.first is None else "`duplicate_rows` settles it"
    )
    return (
        f"whether run {other}, which Flink does not list, is this job's or another's: it depends on that whether run "
        f"{run}{whence} went back below checkpoint {rewind.reached} of run {short_job(rewind.earlier)}; {settles}"
    )


def _repeats_nothing(case: Case, rewind: Rewind) -> bool:
    found, place_of = case.duplicates, case.observation.table.place_of
    if rewind.first is None or found is None or found.keys or why_upsert(case) is not None:
        return False
    return answers(case, "duplicate_rows") and place_of(checked_until(case, "duplicate_rows")) >= place_of(rewind.first)
