"""The highest source position on the table, where a source may be set to go on after it. Pure."""

from bot.domain.diagnosis import Case
from bot.domain.looked import NotSeen
from bot.domain.other_jobs import OtherJobs
from bot.domain.rewinds import flink_commits

_TASK = "missing_positions"


def highest_position(case: Case) -> int | None:
    """None where it is no single number, or not shown: the source has several partitions, another Flink job writes the
    table, too, or the contract hides it. None also where there may be a higher one by now: a run is alive, or
    `missing_positions` was asked of an older head. Newer commits by known runs leave that evidence fresh."""
    contract, gaps = case.contract, case.gaps
    if gaps is None or contract.position_partition is not None or contract.hides(contract.position):
        return None
    if not _is_of_the_head(case) or _may_rise(case) or _has_rows_of_guests(case):
        return None
    return gaps.highest


def _has_rows_of_guests(case: Case) -> bool:
    other_jobs = OtherJobs(case)
    return any(other_jobs.has(s) for s in flink_commits(case.observation.table))


def _is_of_the_head(case: Case) -> bool:
    head = case.observation.table.head
    told = next((each for each in reversed(case.evidence) if each.task == _TASK), None)
    return told is not None and told.head == head and told.window.until in (None, head)


def _may_rise(case: Case) -> bool:
    """Whether a run is alive that may commit, or Flink does not tell."""
    others = case.observation.others
    if isinstance(case.observation.jobs, NotSeen) or isinstance(others, NotSeen):
        return True
    return any(not run.is_terminal for run in (*case.runs, *(others.values if others is not None else ())))
