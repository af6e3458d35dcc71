"""Whether the table is written by key, so that a newer row of a key is meant to replace the older one.

A row that was replaced takes its source position along, so in such a table a missing position is no missing row by
itself. Where it lies outside of everything that any commit brought, nobody ever wrote it.
"""

from dataclasses import dataclass

from bot.diagnosis._support.case import at_position, in_window
from bot.history.case import Case
from bot.observation.contract import bare_deletes, why_by_key
from bot.observation.findings import GapsFinding, PositionGap
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot


def why_upsert(case: Case) -> str | None:
    """One sentence that shows it, from the table's properties or from Flink's own deletes; None: only appends."""
    return why_by_key(case.observation.table.properties, in_window(case))


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
    return tuple(
        seam.gap for seam in _seams(case) if bare_deletes(case.observation.table.properties, seam.commits) == 0
    )


def may_be_replaced(case: Case) -> str | None:
    """What is missing to know that missing positions are missing rows; None: they are, or none is missing."""
    if case.gaps is None or not case.gaps.missing or (upsert := why_upsert(case)) is None:
        return None
    if case.gaps.replaced is not None:
        return _untold(case, case.gaps, upsert) if case.gaps.is_untold else None
    if skipped_between_commits(case):
        return None
    if not (seams := _seams(case)):
        return f"which of the {case.gaps.missing} missing positions were replaced by a newer row of their key. {upsert}"
    first = seams[0]
    low, high = at_position(case, first.gap.first), at_position(case, first.gap.last)
    held = f"positions {low} to {high}" if first.gap.size > 1 else f"position {low}"
    bare = bare_deletes(case.observation.table.properties, first.commits)
    deletes = counted(bare, "delete") if bare is not None else "deletes, nobody can tell how many,"
    return (
        f"whether the source skipped {held} or had deletes there: {short(first.commits[0].snapshot_id)} to "
        f"{short(first.commits[-1].snapshot_id)}, on both sides, carry {deletes} without a row, and a delete leaves no "
        f"position. {upsert}"
    )


def _untold(case: Case, found: GapsFinding, upsert: str) -> str:
    """The task told replaced rows apart, and nothing of what is left shows a missing row."""
    first = found.gaps[0] if found.gaps else None
    where = f" (from {at_position(case, first.first)} on)" if first is not None else ""
    return (
        f"whether {counted(found.missing, 'position')}{where} without a row held deletes, or rows that newer ones "
        f"of their key replaced at once, or rows that are missing. {upsert}"
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
