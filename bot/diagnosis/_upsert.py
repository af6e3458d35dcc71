"""Whether the table is written by key, so that a newer row of a key is meant to replace the older one.

A row that was replaced takes its source position along, so in such a table a missing position is no missing row by
itself. Where it lies outside of everything that any commit brought, nobody ever wrote it.
"""

from dataclasses import dataclass

from bot.diagnosis._case import at_position, in_window
from bot.domain.diagnosis import Case
from bot.domain.findings import PositionGap
from bot.domain.ids import short
from bot.domain.sentences import counted
from bot.domain.table import Snapshot

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


@dataclass(frozen=True)
class Seam:
    """Positions between what the window's commits brought, and the commits that may have met them."""

    gap: PositionGap
    commits: tuple[Snapshot, ...]
    """From the one that ends below it to the one that begins above it, with all between them; oldest first."""


def skipped_between_commits(case: Case) -> tuple[PositionGap, ...]:
    """Positions between those that the window's commits brought, by the bounds of their files, which nobody ever wrote,
    rising: a deleted row leaves no position, so the commits beside them must hold no delete that brings no row.

    Empty also where the source has several partitions: bounds of a file are of all of them together.
    """
    return tuple(seam.gap for seam in _seams(case) if _bare_deletes(case, seam.commits) == 0)


def may_be_replaced(case: Case) -> str | None:
    """What is missing to know that missing positions are missing rows; None: they are, or none is missing."""
    if case.gaps is None or not case.gaps.missing or (upsert := why_upsert(case)) is None:
        return None
    if skipped_between_commits(case):
        return None
    if not (seams := _seams(case)):
        return f"which of the {case.gaps.missing} missing positions were replaced by a newer row of their key. {upsert}"
    first = seams[0]
    low, high = at_position(case, first.gap.first), at_position(case, first.gap.last)
    held = f"positions {low} to {high}" if first.gap.size > 1 else f"position {low}"
    bare = _bare_deletes(case, first.commits)
    deletes = counted(bare, "delete") if bare is not None else "deletes, nobody can tell how many,"
    return (
        f"whether the source skipped {held} or had deletes there: {short(first.commits[0].snapshot_id)} to "
        f"{short(first.commits[-1].snapshot_id)}, on both sides, carry {deletes} without a row, and a delete leaves no "
        f"position. {upsert}"
    )


def _seams(case: Case) -> tuple[Seam, ...]:
    if case.contract.position_partition is not None or case.ledger is None:
        return ()
    main = case.ledger.main
    told = [
        (row.position_from, row.position_until, place)
        for place, row in enumerate(main)
        if row.position_from is not None and row.position_until is not None
    ]
    found: list[Seam] = []
    reached: tuple[int, int] | None = None
    for low, high, place in sorted(told):
        if reached is not None and low > reached[0] + 1:
            begin, end = sorted((reached[1], place))
            between = (case.observation.table.by_id.get(row.snapshot_id) for row in main[begin : end + 1])
            gap = PositionGap(first=reached[0] + 1, last=low - 1)
            found.append(Seam(gap, tuple(each for each in between if each is not None)))
        if reached is None or high > reached[0]:
            reached = (high, place)
    return tuple(found)


def _bare_deletes(case: Case, commits: tuple[Snapshot, ...]) -> int | None:
    """Deletes of these commits that brought no row; None: nobody can tell how many. An upsert writes a delete of the
    key with every row, by which commits with as many deletes as rows hold no deletion of a key alone; elsewhere a
    delete may be one that takes a row away, or the first half of an update."""
    is_upsert = case.observation.table.properties.get(_PROPERTY, "").lower() == "true"
    bare = 0
    for commit in commits:
        deletes = commit.counted("added-equality-deletes") + commit.counted("added-position-deletes")
        if not deletes and commit.counted("added-delete-files"):
            return None
        rows = commit.counted("added-records") if is_upsert else 0
        if deletes and deletes < rows:
            return None
        bare += max(0, deletes - rows)
    return bare
