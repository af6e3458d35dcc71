"""What people have declared as planned: a match says so, and asks for no recovery while no wrong row is known.

A declaration makes no mode hold and no row right: whether a match says that rows are right is the same with it and
without it, and what vouches for the table is left as it is.
"""

from collections.abc import Iterable

from bot.diagnosis._support.asked import lacking
from bot.diagnosis._support.rightness import may_answer
from bot.diagnosis._support.upsert import may_be_replaced
from bot.history.case import Case, PlannedChange
from bot.history.counted import COUNTS
from bot.history.proof import Unproven, Wrong, exact
from bot.incident.diagnosis import Matches, Mode, ModeResult, Remedy
from bot.incident.doubt import rows_are_right
from bot.observation.sentences import counted, full_stop


def with_plans(case: Case, results: Iterable[ModeResult]) -> tuple[ModeResult, ...]:
    """The same answers; each match that people have declared planned takes that into account."""
    plans = {plan.code: plan for plan in case.planned}
    return tuple(
        each.model_copy(update={"examined": _taken(case, each.mode, each.examined, plans[each.mode.code])})
        if isinstance(each.examined, Matches) and each.mode.code in plans
        else each
        for each in results
    )


def _taken(case: Case, mode: Mode, match: Matches, plan: PlannedChange) -> Matches:
    if not _covers(plan, match):
        return _saying(match, f"<@{plan.by}> declared an earlier change as planned ({plan.what}), not this one.")
    said = f"Planned by <@{plan.by}> ({plan.what}): {full_stop(plan.reason)}"
    if rows_are_right(match):
        return _saying(match, said)
    known = _known(case)
    if isinstance(known, Wrong):
        return _saying(match, said, f"A plan does not make rows right: {known.reason}")
    if isinstance(known, Unproven):
        open_still = f"Whether its rows are right is not known yet: {known.missing.rstrip('.')}."
        asks = (*match.asks, *may_answer(case, known.asks))
        return _saying(match, said, open_still).model_copy(update={"asks": tuple(dict.fromkeys(asks))})
    if Remedy.VERIFY_CURRENT_STATE in mode.remedies:
        told = _saying(match, said, "No wrong row was counted, so nothing is taken back.")
        return told.model_copy(update={"remedy": Remedy.VERIFY_CURRENT_STATE, "how": None})
    how = f"change nothing; count the rows again after the next commit, and only if they are wrong {match.what_to_do}"
    so_far = "No wrong row was counted so far. Rows that come twice, or are missing, must be repaired all the same."
    return _saying(match, said, so_far).model_copy(update={"how": how})


def _known(case: Case) -> Wrong | Unproven | None:
    """What speaks against the rows of main as it is now, or has to be known of them; None: each is there once."""
    if case.duplicates is not None and case.duplicates.keys:
        return Wrong(f"{counted(case.duplicates.extra_rows, 'row')} too many.")
    if case.gaps is not None and case.gaps.to_come:
        return Wrong(f"{counted(case.gaps.to_come, 'position')} that main has lost have not been written again yet.")
    if old := lacking(case, *COUNTS, whole=True):
        return Unproven("; ".join(old), COUNTS)
    replaced = may_be_replaced(case)
    return exact(case) if replaced is None else Unproven(replaced)


def _saying(match: Matches, *first: str) -> Matches:
    return match.model_copy(update={"reasons": (*first, *match.reasons)})


def _covers(plan: PlannedChange, match: Matches) -> bool:
    """Whether the match is of the same cause: of the same run, which may have committed on, or of no commit that was
    not there when it was declared."""
    if plan.newest_wrong != match.newest_wrong:
        return False
    if match.wrong_run is None:
        return set(match.rows) <= set(plan.commits)
    return (plan.run, plan.last_good) == (match.wrong_run, match.last_good)
