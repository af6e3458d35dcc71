"""Whether rows of a Flink manifest that was never committed came to the table all the same, by a later reading: what is
appended then is there twice."""

from bot.domain.contract import TableContract
from bot.domain.findings import GapsFinding, LeakedManifest


def some_are_live(leak: LeakedManifest, gaps: GapsFinding | None, contract: TableContract) -> bool:
    """Whether a position between those of the manifest is accounted for: fewer are missing there, at the most, than
    there are. False where nothing tells: bounds of a file with several source partitions are of all of them together.
    """
    low, high = leak.position_from, leak.position_until
    if gaps is None or contract.position_partition is not None or low is None or high is None:
        return False
    if gaps.lowest is None or gaps.highest is None:
        return False
    low, high = max(low, gaps.lowest), min(high, gaps.highest)
    unnamed = gaps.missing - sum(gap.size for gap in gaps.gaps)
    here = sum(max(0, min(high, gap.last) - max(low, gap.first) + 1) for gap in gaps.gaps)
    return here + unnamed < high - low + 1
