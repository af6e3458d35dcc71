"""Whether the table itself is right: the proof of `bot.history`, with what else can be wrong of files and columns.

Who calls the table healthy and who leaves it as a dead job left it rest on the same.
"""

from bot.diagnosis._support.arrivals import unaccounted
from bot.diagnosis._support.asked import answers, gave_nothing, lacking, unasked
from bot.diagnosis._support.case import living, not_asked, unseen
from bot.diagnosis._support.leaks import came_again
from bot.diagnosis._support.lost_and_expired import may_be_lost_and_expired
from bot.diagnosis._support.other_branch import writes_a_branch
from bot.diagnosis._support.other_writers import (
    COMPARES,
    changes_by_others,
    unknown_pick,
    unknown_writer,
    unsettled_compactions,
)
from bot.diagnosis._support.overdue import settled
from bot.diagnosis._support.upsert import may_be_replaced
from bot.diagnosis._support.wrong_rows import ALL_FILES, missing_now
from bot.diagnosis.commit_overwritten import overwritten
from bot.diagnosis.schema_changed_under_the_job import unwritten, writes_unknown, written_in_vain
from bot.history.case import Case
from bot.history.counted import Counted
from bot.history.other_writers import name_of
from bot.history.proof import ROWS, Right, Unproven, Wrong, is_exact, prove, root
from bot.history.staleness import is_just_given, manifests_since
from bot.history.unread_points import rows_of
from bot.history.without_ids import why_untold, without_ids
from bot.incident.diagnosis import CannotTell, Excluded
from bot.observation.evidence import Evidence
from bot.observation.findings import LeakedManifestsFinding, LeakStanding, MissingFilesFinding
from bot.observation.ids import JobId, SnapshotId, short
from bot.observation.sentences import counted

RESTS_ON = (*ROWS, "unreadable_files")
"""Evidence that must have answered as a whole."""
ASKS_FOR = ("leaked_manifests", "replayed_rows", "orphan_files", ALL_FILES, COMPARES)
"""Evidence that settles what these leave open, where they do."""


def proven(case: Case, *, is_down: bool = False) -> Right | CannotTell | Excluded:
    """The proof; or what speaks against it, or is missing for it. `is_down`: as `prove` has it."""
    rows = Counted(case)
    against = _files(case) or _dropped(case, rows) or _columns(case) or _others(case)
    if against is not None:
        return Excluded(reason=against)
    open_still = [told for told in _open(case, rows) if told is not None]
    match prove(case, is_down=is_down):
        case Wrong(reason) if may_be_replaced(case) is None:
            return Excluded(reason=reason)
        case Unproven(missing, asks):
            said = tuple(_why(case, task) for task in rows.not_answered) or (missing,)
            open_still.append(CannotTell(missing=said, asks=may_answer(case, asks)))
        case Right() as right:
            if (overdue := unaccounted(case, right.until)) is not None:
                open_still.append(overdue)
            if (expired := may_be_lost_and_expired(case, right.until)) is not None:
                open_still.append(CannotTell(missing=(expired,)))
            if not open_still:
                return right
    left = tuple(dict.fromkeys(what for each in open_still for what in each.missing))
    return CannotTell(missing=left, asks=tuple(dict.fromkeys(task for each in open_still for task in each.asks)))


def root_in_doubt(case: Case) -> CannotTell | None:
    """What has to be known of where a living run began, or how far it has come; None: it stands at main's end. Where it
    does not, and no mode names that, none by which it comes can be ruled out."""
    match root(case):
        case Unproven(missing, asks):
            return CannotTell(missing=(missing,), asks=may_answer(case, asks))
        case Wrong(reason):
            return CannotTell(missing=(f"the cause of this: {reason.rstrip('.')}",))
    return None


def did_no_harm(case: Case, run: JobId) -> bool:
    """Whether the run is over, and all that it brought was counted and is there once."""
    return run not in {each.job_id for each in living(case)} and is_exact(case, run)


def not_known_yet(left: CannotTell) -> str:
    """With what to ask for, where that may settle it."""
    known = f"Whether it has brought rows again is not known yet: {'; '.join(left.missing)}."
    return f"{known} Ask for {', '.join(left.asks)}." if left.asks else known


def _why(case: Case, task: str) -> str:
    """A task of which no answer holds, with the reason: it has not run, could not answer, or has grown old."""
    return next(iter(lacking(case, task, whole=True)), f"{task}, once more, up to the newest commit that was looked at")


def may_answer(case: Case, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Of these tasks those that another run may answer: one that could not is not run again for the same state. Rows
    are counted again for newer commits of the job, which make no other answer old."""
    again = frozenset(unasked(case, *tasks))
    return tuple(task for task in tasks if task in again or (task in ROWS and not gave_nothing(case, task)))


def begins_above(case: Case) -> SnapshotId | None:
    """The commit from which on a table is called right: where the window begins, or at the oldest listed commit where
    what lies below it has expired. None: all of the table is."""
    since, chain = case.window.since, case.observation.table.chain
    return chain[-1].snapshot_id if since is None and chain and chain[-1].has_commit_below else since


def _files(case: Case) -> str | None:
    lost_file = case.observation.table.lost_metadata
    if lost_file is not None:
        return f"The catalog points at {lost_file}, which cannot be read: what is said here is of an older state (F10)."
    if lost := overwritten(case):
        return f"{short(lost[0].commit.snapshot_id)} was overwritten in the catalog (F26)."
    if case.unreadable is not None and case.unreadable.count:
        return f"{case.unreadable.count} files with {case.unreadable.rows} rows cannot be read (F9)."
    if isinstance(gone := missing_now(case), MissingFilesFinding):
        return f"{gone.count} files that the table names, with {gone.rows} rows, are not on storage (F9)."
    if case.duplicate_files is not None and case.duplicate_files.count:
        return f"{case.duplicate_files.count} files are live more than once (F1)."
    return None


def _dropped(case: Case, rows: Counted) -> str | None:
    """Manifests of a living run that its sink will not commit. Those of ended runs are told by the proof: their rows
    are on main, or the living run stands below them."""
    alive = {run.job_id for run in living(case)}
    dropped = case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if case.leaked is not None else ()
    lost = tuple(leak for leak in dropped if leak.job_id in alive and not rows.has_come_to(leak))
    if not lost:
        return None
    were = "was" if len(lost) == 1 else "were"
    return f"{counted(len(lost), 'Flink manifest')} with {rows_of(lost)} {were} not committed, and will not be."


def _passed_over(case: Case, rows: Counted) -> CannotTell | None:
    """A manifest of a living run that holds rows above main's, though its sink has committed a later checkpoint long
    enough ago to have deleted it, or of which nothing tells what becomes."""
    for run in living(case):
        due = settled(case, run)
        for leak in case.leaked.manifests if case.leaked is not None else ():
            if leak.job_id != run.job_id or leak.is_empty or rows.has_come_to(leak):
                continue
            of_sink = (s for s in case.observation.table.of_flink if s.committed_at <= due)
            of_sink = (s for s in of_sink if (s.job_id, s.operator_id) == (leak.job_id, leak.operator_id))
            is_passed = any((s.checkpoint_id or 0) > leak.checkpoint_id for s in of_sink)
            if is_passed or leak.standing is LeakStanding.UNTOLD:
                return CannotTell(missing=(f"whether the rows of Flink manifest {leak.name} come",))
    return None


def _left_by_ended(case: Case) -> CannotTell | None:
    """Manifests that an ended run left and nothing commits, and whose rows are not known to be on main: where they
    begin a source partition, no gap shows them."""
    alive = {run.job_id for run in living(case)}
    for leak in case.leaked.left_out if case.leaked is not None else ():
        if leak.job_id not in alive and came_again(leak, case) is None:
            return CannotTell(missing=(f"whether the rows of Flink manifest {leak.name} were read again",))
    return None


def _waiting(case: Case) -> CannotTell | None:
    """Manifests of a living run that had the time to be committed, and of which nobody has asked what becomes."""
    alive = {run.job_id for run in living(case)}
    known = case.leaked or LeakedManifestsFinding(manifests=(), lost_files=0, lost_rows=0, lost_deletes=0)
    latest = next((each for each in reversed(case.evidence) if each.task == "leaked_manifests"), None)
    if latest is not None and is_just_given(latest, case.observation.table.read_at):
        return None
    late = [each for each in manifests_since(known, case.observation) if each.job_id in alive]
    if not late:
        return None
    what = f"what became of Flink manifest {late[0].path.rsplit('/', 1)[-1]}, which is not committed yet"
    return CannotTell(missing=(what,), asks=("leaked_manifests",))


def _columns(case: Case) -> str | None:
    if case.schema_drift is None:
        return None
    if columns := unwritten(case, case.schema_drift):
        return f"The job does not write {', '.join(columns)}, which the table has since its schema was changed (F23)."
    if columns := written_in_vain(case, case.schema_drift):
        return f"The job goes on writing {', '.join(columns)}, which the table no longer has (F23)."
    return None


def _accused(earlier: Evidence) -> str:
    found = f"{earlier.task} found at {earlier.at:%H:%M} UTC still holds ({earlier.headline.rstrip('.')})"
    return f"whether what {found}: commits that it covered have expired since"


def _others(case: Case) -> str | None:
    mine = without_ids(case)
    foreign = next((each for each in changes_by_others(case) if each not in mine), None)
    if foreign is None or unknown_writer(case) is not None:
        return None
    return f"{short(foreign.snapshot_id)} ({foreign.operation}) was committed by {name_of(foreign)}, not by the job."


def _open(case: Case, rows: Counted) -> tuple[CannotTell | None, ...]:
    """What of files, columns and other writers has to be known, of which the proof does not speak."""
    missing = missing_now(case)
    written, files = writes_unknown(case), "unreadable_files"
    told = (
        *(_accused(each) for each in case.accused),
        may_be_replaced(case),
        unknown_pick(case),
        writes_a_branch(case),
        unseen(written) if written is not None else None,
        why_untold(mine) if (mine := without_ids(case)) else unknown_writer(case),
    )
    return (
        None if answers(case, files) else CannotTell(missing=(not_asked(case, files),), asks=unasked(case, files)),
        missing if isinstance(missing, CannotTell) else None,
        _passed_over(case, rows),
        _left_by_ended(case),
        _waiting(case),
        unsettled_compactions(case),
        *(CannotTell(missing=(what,)) for what in told if what is not None),
    )
