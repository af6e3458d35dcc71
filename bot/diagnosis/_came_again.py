"""Whether the rows of Flink manifests that nothing will commit are in the table all the same: the source was read
again, and live rows have their positions."""

from bot.diagnosis._asked import answers
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakedManifest
from bot.domain.sentences import counted
from bot.domain.unread_points import rows_of


def came_again(leak: LeakedManifest, case: Case) -> bool | None:
    """None: no position is known to be missing, and nobody knows whether that covers those of the manifest. Where a
    position is missing, or none was looked for, its rows count as lost.

    Deletes have no position, so nobody knows it of them. Bounds of a manifest with several source partitions are of
    all of them together, and so are those of the search: one partition's rows lie between them where another's were
    read further.
    """
    gaps, low, high = case.gaps, leak.position_from, leak.position_until
    if leak.is_empty:
        return True
    if gaps is None or gaps.missing:
        return False
    if low is None or high is None or not answers(case, "missing_positions"):
        return None
    is_inside = gaps.lowest is not None and gaps.highest is not None and gaps.lowest <= low and high <= gaps.highest
    return None if is_inside and case.contract.position_partition is not None else is_inside


def in_doubt(leaks: tuple[LeakedManifest, ...]) -> str:
    """What is missing to know it, a clause."""
    of = f" with {rows_of(known)}" if (known := [leak for leak in leaks if leak.rows or leak.has_deletes]) else ""
    return (
        f"whether the rows of {counted(len(leaks), 'Flink manifest')}{of} that nothing commits were read again: no "
        "position is missing among those that were looked at, and theirs are not known"
    )
