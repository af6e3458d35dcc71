"""Whether the rows that main lost by a rollback are there again, by the positions that were looked for since."""

from itertools import takewhile

from bot.diagnosis._support.asked import answers, checked_until
from bot.diagnosis._support.case import run_of
from bot.history.case import Case
from bot.history.other_jobs import OtherJobs
from bot.history.rollbacks import Rollback
from bot.history.rolled_back import KnownOutcome
from bot.observation.ids import short, short_job


def every_row_is_there(case: Case) -> bool:
    """Whether evidence that still holds found every position at the head, with none to come: a hole would show."""
    found = case.gaps
    if found is None or not found.has_positions or not answers(case, "missing_positions"):
        return False
    return not found.missing and not found.to_come


def rows_were_put_back(case: Case, lost: Rollback) -> bool:
    """Whether evidence that still holds, of a head that came after this rollback, found every position there."""
    return looked_since(case, lost) and every_row_is_there(case)


def is_filled(case: Case, lost: Rollback) -> bool:
    """Whether the rows of this rollback were put back, also where others are missing: every gap is named, and none lies
    among the positions that its commits had brought."""
    if rows_were_put_back(case, lost):
        return True
    gaps, brought = case.gaps, _brought(case, lost)
    if gaps is None or brought is None or gaps.lowest is None or gaps.highest is None or not looked_since(case, lost):
        return False
    return gaps.lowest <= brought[0] and brought[1] <= gaps.highest and lies_beside_gaps(case, lost)


def lies_beside_gaps(case: Case, lost: Rollback) -> bool:
    """Whether every gap is named, and none lies among the positions that these commits had brought: whatever took the
    missing rows, this rollback did not. Bounds of several source partitions are of all together: they tell nothing."""
    gaps, brought = case.gaps, _brought(case, lost)
    if gaps is None or brought is None or case.contract.position_partition is not None:
        return False
    (low, high), named = brought, sum(gap.last - gap.first + 1 for gap in gaps.gaps)
    return named == gaps.missing and not any(gap.first <= high and low <= gap.last for gap in gaps.gaps)


def untold(case: Case, lost: Rollback, told: KnownOutcome) -> str:
    """What is missing to know of a rollback whether the run that goes on, or may, holds in its state what main lost."""
    run = run_of(case, told.run)
    began = f", restored from checkpoint {run.restored.checkpoint_id}," if run is not None and run.restored else ""
    return (
        f"whether the state of run {short_job(told.run)}{began} has the rows that main lost by its rollback to "
        f"{short(lost.target)}, or reads them again"
    )


def is_found_missing(case: Case, lost: Rollback) -> bool:
    """Whether a gap that was found since lies among the positions that one of these commits had brought."""
    if case.gaps is None or case.contract.position_partition is not None or not looked_since(case, lost):
        return False
    brought = (r for r in (case.ledger.rows if case.ledger else ()) if r.snapshot_id in lost.left and r.added_rows)
    ends = [(r.position_from, r.position_until) for r in brought]
    return any(
        low is not None and high is not None and gap.first <= high and low <= gap.last
        for low, high in ends
        for gap in case.gaps.gaps
    )


def _brought(case: Case, lost: Rollback) -> tuple[int, int] | None:
    """The lowest and the highest position of these commits; None where one of them, or its bounds, is not known."""
    rows = [row for row in (case.ledger.rows if case.ledger else ()) if row.snapshot_id in lost.left]
    told = [(row.position_from, row.position_until) for row in rows if row.added_rows]
    low, high = [low for low, _ in told if low is not None], [high for _, high in told if high is not None]
    is_known = len(rows) == len(lost.left) and len(low) == len(high) == len(told) > 0
    return (min(low), max(high)) if is_known else None


def looked_since(case: Case, lost: Rollback) -> bool:
    """Whether missing positions were looked for, with an answer that still holds, at or above a commit that brought
    rows and is newer than those that main lost: what was found before says nothing of them, nor what was found below
    none but compactions, other jobs' commits and Flink's empty ones, which bring no later position."""
    if not answers(case, "missing_positions"):
        return False
    table, other_jobs = case.observation.table, OtherJobs(case)
    until, edge = table.place_of(checked_until(case, "missing_positions")), table.place_of(lost.left[-1])
    since = takewhile(lambda s: table.place_of(s.snapshot_id) > edge, table.chain)
    brought = (s for s in since if table.place_of(s.snapshot_id) <= until and s.operation != "replace" and s.adds_rows)
    return any(not other_jobs.has(s) for s in brought)
