"""Why a rollback may have left a hole although a run seems to explain it, restored from the target since, or going on
from there.

Whether a run went back, where that depends on a run that Flink does not list: it may be the job's or a guest's.
"""

from bot.diagnosis._asked import answers, checked_until
from bot.diagnosis._case import is_live, living, untold_rewinds_in
from bot.diagnosis._unbroken import is_filled, is_found_missing
from bot.diagnosis._upsert import why_upsert
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakedManifest, LeakStanding
from bot.domain.flink import CLOCKS_DIFFER, Restored, names_run
from bot.domain.ids import JobId, short, short_job
from bot.domain.rewinds import Rewind
from bot.domain.rollbacks import Rollback, Sequel
from bot.domain.sentences import counted
from bot.domain.table import TableState


def rewound_in_doubt(case: Case, lost: Rollback) -> str | None:
    """What is missing to know that its rows have come again, or will; None: nothing is, or no run
    explains it and none of its positions is found missing."""
    if is_filled(case, lost):
        return None
    if not (lost.is_rewound or lost.sequel in {Sequel.OTHER_RUN, Sequel.REDONE}):
        return _missing_below_others(lost) if is_found_missing(case, lost) else None
    if is_found_missing(case, lost):
        return (
            f"why positions are missing that main lost by its rollback to {short(lost.target)}: a run goes on from "
            "there as after a rewind of table and job, and has passed them without bringing them again"
        )
    if (leak := _counted_twice(case, lost)) is not None:
        return (
            f"which state run {short_job(leak.job_id)} had at checkpoint {leak.checkpoint_id}: main has that one or a "
            "later one, and yet a Flink manifest of it is left, so the run may have counted these ids twice, and "
            f"what seems to pair with {short(lost.target)} may be the later state; `missing_positions` settles it once "
            "the next commit has come"
        )
    if not lost.is_rewound:
        return None
    return _may_have_read_again(case, lost) or _may_be_restored_before(case, lost)


def _missing_below_others(lost: Rollback) -> str:
    return (
        f"who brought rows above positions that main lost by its rollback to {short(lost.target)} and does not have "
        "again: no run of the job is known to go on from there, and yet later positions were committed since, as by "
        "hand; `missing_positions` names what is to be brought"
    )


def _counted_twice(case: Case, lost: Rollback) -> LeakedManifest | None:
    """A manifest with rows of the run that made the target, at or below the target's id, of which it is not known that
    only its deletion failed: the run came to that id twice (facts 0.7). Not one below that id whose rows are live, as
    of a checkpoint that a failover broke off."""
    below = case.observation.table.ancestors(lost.target) if lost.target is not None else ()
    kept = next((s for s in below if s.job_id is not None and s.checkpoint_id is not None), None)
    if kept is None or kept.checkpoint_id is None or case.leaked is None:
        return None
    for leak in case.leaked.of(LeakStanding.UNTOLD, LeakStanding.DROPPED):
        if leak.is_empty or leak.job_id != kept.job_id or leak.checkpoint_id > kept.checkpoint_id:
            continue
        if leak.checkpoint_id == kept.checkpoint_id or not is_live(leak, case.gaps, case.contract):
            return leak
    return None


def _may_have_read_again(case: Case, lost: Rollback) -> str | None:
    """What is missing where the run that made the target had read again below it, and come to the target's id twice: it
    lost more rows than positions that are to come."""
    table = case.observation.table
    below = table.ancestors(lost.target) if lost.target is not None else ()
    kept = next((s for s in below if s.job_id is not None), None)
    left = [table.by_id[each] for each in lost.left]
    again = next((s for s in left if kept is not None and s.job_id == kept.job_id), None)
    rows = sum(s.counted("added-records") for s in left)
    if again is None or case.gaps is None or not 0 < case.gaps.to_come < rows or why_upsert(case) is not None:
        return None
    return (
        f"whether run {short_job(again.job_id)} had read again below {short(lost.target)}, so that its checkpoint ids "
        f"came twice: main lost {counted(rows, 'row')} there, and {counted(case.gaps.to_come, 'position')} of them "
        "are to come; `missing_positions` settles it once the next commit has come"
    )


def _may_be_restored_before(case: Case, lost: Rollback) -> str | None:
    """What is missing where a run's state holds more than the target, which its sink commits only if main was set back
    before the restore: later the sink takes it for committed."""
    table = case.observation.table
    moved = next((m.at for m in reversed(table.head_moves) if m.snapshot_id == lost.target), None)
    for run in living(case):
        point = run.restored
        if point is None or moved is None or point.at >= moved + CLOCKS_DIFFER or _is_of_target(table, point, lost):
            continue
        return (
            f"whether main had been set back to {short(lost.target)} when Flink restored run {short_job(run.job_id)} "
            f"from checkpoint {point.checkpoint_id}: if not, its sink takes for committed what that holds above it; "
            "`missing_positions` settles it once the next commit has come"
        )
    return None


def _is_of_target(table: TableState, point: Restored, lost: Rollback) -> bool:
    """Whether main has, at or below the target, the commit of the very checkpoint that was restored, or a later one of
    that run: then its state holds no more."""
    below = (s for s in table.ancestors(lost.target) if s.job_id is not None) if lost.target is not None else ()
    named = (s for s in below if point.path is None or names_run(point.path, s.job_id or JobId("")))
    newest = next(named, None)
    return newest is not None and (newest.checkpoint_id or 0) >= point.checkpoint_id


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
