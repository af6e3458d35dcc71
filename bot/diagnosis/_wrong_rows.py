"""What evidence found that speaks against the rows: doubled, missing, to come, dropped, unreadable, unwritten."""

from bot.diagnosis._asked import lacking, unasked
from bot.diagnosis._came_again import came_again
from bot.diagnosis._case import at_position
from bot.diagnosis._empty_starts import counted_anew
from bot.diagnosis._lost_files import missing_now
from bot.diagnosis._upsert import may_be_replaced, why_upsert
from bot.diagnosis.schema_changed_under_the_job import unwritten, written_in_vain
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.findings import LeakStanding, MissingFilesFinding, RepeatedCommit
from bot.domain.ids import short
from bot.domain.sentences import counted
from bot.domain.unread_points import rows_of


def wrong_rows(case: Case) -> str | None:
    """The first thing that was counted wrong among rows; None also where nobody counted."""
    if case.duplicates is not None and case.duplicates.keys:
        return f"{case.duplicates.keys} keys live more than once, {case.duplicates.extra_rows} rows too many."
    if case.gaps is not None and case.gaps.missing and may_be_replaced(case) is None:
        lowest, highest = at_position(case, case.gaps.lowest), at_position(case, case.gaps.highest)
        return f"{case.gaps.missing} source positions between {lowest} and {highest} are missing."
    if case.gaps is not None and case.gaps.to_come:
        return f"{case.gaps.to_come} positions of rolled-back commits are not written again yet."
    if case.schema_drift is not None and (columns := unwritten(case, case.schema_drift)):
        return f"The job does not write {', '.join(columns)}, which the table has since its schema was changed (F23)."
    if case.schema_drift is not None and (columns := written_in_vain(case, case.schema_drift)):
        return f"The job goes on writing {', '.join(columns)}, which the table no longer has (F23)."
    return None


def wrong_files(case: Case) -> str | None:
    """The first thing that is wrong among commits and files; None also where nobody looked."""
    if case.unreadable is not None and case.unreadable.count:
        return f"{case.unreadable.count} files with {case.unreadable.rows} rows cannot be read (F9)."
    if isinstance(gone := missing_now(case), MissingFilesFinding):
        return f"{gone.count} files that the table names, with {gone.rows} rows, are not on storage (F9)."
    if case.duplicate_files is not None and case.duplicate_files.count:
        return f"{case.duplicate_files.count} files are live more than once (F1)."
    repeated = next((r for r in _repeats(case) if r.how != "same-source-range"), None)
    if repeated is not None:
        how = "the same files" if repeated.how == "same-files" else f"checkpoint {repeated.checkpoint_id}"
        return f"{short(repeated.again)} brings {how} once more after {short(repeated.first)} (F1)."
    dropped = case.leaked.of(LeakStanding.DROPPED, LeakStanding.LOST_STATE) if case.leaked is not None else ()
    if lost := tuple(leak for leak in dropped if came_again(leak, case) is not True):
        were = "was never committed and never will be" if len(lost) == 1 else "were never committed and never will be"
        return f"{counted(len(lost), 'Flink manifest')} with {rows_of(lost)} {were}."
    if case.forked is not None and case.forked.forked:
        return f"{len(case.forked.forked)} runs take turns on main (F13)."
    return None


def repeats_unexplained(case: Case) -> CannotTell | None:
    """What is missing where two commits cover the same source positions and no key lives twice: an upsert replaced
    the rows, or the copies have different keys. Asks for `replayed_rows`, which tells. Of two that carry one checkpoint
    because the ids began at 1 again it is the source range, or as many rows, that names them."""
    covers_again = (r for r in _repeats(case) if r.how == "same-source-range" or counted_anew(case, r))
    repeated = next(covers_again, None)
    if repeated is None or why_upsert(case) is not None:
        return None
    said = (
        f"{short(repeated.again)} covers source positions of {short(repeated.first)} again, though no key lives twice"
    )
    if missing := lacking(case, "replayed_rows", whole=True):
        return CannotTell(missing=(f"{missing[0]}: {said}",), asks=unasked(case, "replayed_rows"))
    if case.replayed is not None and case.replayed.replayed:
        return CannotTell(missing=(f"why {case.replayed.replayed} rows came again under other keys: {said}",))
    return None


def _repeats(case: Case) -> tuple[RepeatedCommit, ...]:
    return case.duplicate_commits.repeated if case.duplicate_commits is not None else ()
