"""Whether rows of a Flink manifest that was never committed came to the table all the same, by a later reading: what is
appended then is there twice."""

from bot.domain.contract import TableContract
from bot.domain.findings import GapsFinding, LeakedManifest


def some_are_live(leak: LeakedManifest, gaps: GapsFinding | None, contract: TableContract) -> bool:
    """Whether the lowest or the highest position of the manifest is there, which both are of rows of its own, or fewer
    are missing between them, at the most, than it has rows. False where nothing tells: bounds of a file with several
    source partitions are of all of them together. Gaps are named from the lowest on, so what is not named lies above.
    """
    low, high = leak.position_from, leak.position_until
    if gaps is None or contract.position_partition is not None or low is None or high is None:
        return False
    if gaps.lowest is None or gaps.highest is None:
        return False
    lowest = min([gaps.lowest, *(gap.first for gap in gaps.gaps)])
    unnamed, named_until = _unnamed(gaps), _named_until(gaps, gaps.highest, lowest)
    for edge in (low, high):
        if lowest <= edge <= named_until and not any(gap.first <= edge <= gap.last for gap in gaps.gaps):
            return True
    begin, end = max(low, lowest), min(high, gaps.highest)
    beside = (high - low) - (end - begin)
    here = sum(max(0, min(end, gap.last) - max(begin, gap.first) + 1) for gap in gaps.gaps)
    here += min(unnamed, max(0, end - max(begin, named_until + 1) + 1))
    return here < min(leak.rows or 0, high - low + 1) - beside


def all_are_live(leak: LeakedManifest, gaps: GapsFinding) -> bool:
    """Whether every position between those of the manifest was looked at, and none is missing; bounds as above."""
    low, high = leak.position_from, leak.position_until
    if low is None or high is None or gaps.lowest is None or gaps.highest is None or not gaps.lowest <= low:
        return False
    is_missing = any(gap.first <= high and low <= gap.last for gap in gaps.gaps)
    return high <= _named_until(gaps, gaps.highest, low) and not is_missing


def _unnamed(gaps: GapsFinding) -> int:
    return gaps.missing - sum(gap.size for gap in gaps.gaps)


def _named_until(gaps: GapsFinding, highest: int, lowest: int) -> int:
    """Up to where every gap from `lowest` on is named."""
    return highest if not _unnamed(gaps) else max((gap.last for gap in gaps.gaps), default=lowest - 1)
