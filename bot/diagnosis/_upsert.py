"""Whether the table is written by key, so that a newer row of a key is meant to replace the older one.

A row that was replaced takes its source position along, so in such a table a missing position is no missing row by
itself. Where it lies outside of everything that any commit brought, nobody ever wrote it.
"""

from itertools import pairwise

from bot.diagnosis._case import in_window
from bot.domain.diagnosis import Case
from bot.domain.findings import PositionGap

_PROPERTY = "write.upsert.enabled"


def why_upsert(case: Case) -> str | None:
    """One sentence that shows it, from the table's properties or from Flink's own deletes; None: only appends."""
    if case.observation.table.properties.get(_PROPERTY, "").lower() == "true":
        return f"The table is written by key ({_PROPERTY} is true)."
    deletes = sum(s.counted("added-equality-deletes") for s in in_window(case) if s.job_id)
    if deletes:
        return f"The job writes by key: its commits in the window carry {deletes} equality deletes."
    files = sum(s.counted("added-delete-files") for s in in_window(case) if s.job_id)
    if files:
        return f"The job writes by key: its commits in the window carry {files} delete files."
    return None


def skipped_between_commits(case: Case) -> tuple[PositionGap, ...]:
    """Positions between those that the window's commits brought, by the bounds of their files, rising.

    Empty also where the source has several partitions: bounds of a file are of all of them together.
    """
    if case.contract.position_partition is not None or case.ledger is None:
        return ()
    told = [(r.position_from, r.position_until) for r in case.ledger.main]
    ranges = sorted((low, high) for low, high in told if low is not None and high is not None)
    reached = [max(high for _, high in ranges[: place + 1]) for place in range(len(ranges))]
    ends = zip(reached, ranges, strict=True)
    return tuple(
        PositionGap(first=below + 1, last=low - 1) for (below, _), (_, (low, _)) in pairwise(ends) if low > below + 1
    )


def may_be_replaced(case: Case) -> str | None:
    """What is missing to know that missing positions are missing rows; None: they are, or none is missing."""
    if case.gaps is None or not case.gaps.missing or (upsert := why_upsert(case)) is None:
        return None
    if skipped_between_commits(case):
        return None
    return f"which of the {case.gaps.missing} missing positions were replaced by a newer row of their key. {upsert}"
