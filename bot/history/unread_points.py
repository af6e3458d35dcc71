"""Restore points that storage has and nobody could read: archived, denied, or too large. Each may be a good one, and
nearer than the one that is chosen.
"""

from collections.abc import Iterable

from bot.observation.contract import TableContract
from bot.observation.findings import GapsFinding, LeakedManifest
from bot.observation.flink import StoredCheckpoint
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import counted

_NAMED = 3


def unread_points(stored: Seen[StoredCheckpoint] | NotSeen) -> tuple[StoredCheckpoint, ...]:
    """As listed. Those that are broken or unfinished are not among them: nothing could be restored from those."""
    return tuple(each for each in stored.values if each.is_unread)


def beside(stored: Seen[StoredCheckpoint] | NotSeen, chosen: str | None = None) -> str | None:
    """What to know before an older one is taken for the nearest (`chosen`: its path), a sentence or more; None where
    every point could be read."""
    unread = unread_points(stored)
    if not unread:
        return None
    told = " ".join(f"{each.path}: {each.problem}" for each in unread[:_NAMED])
    more = f" And {len(unread) - _NAMED} more." if len(unread) > _NAMED else ""
    than = "" if chosen is None else f" than {chosen}"
    could = "could not be read and may be" if len(unread) == 1 else "could not be read, and one of them may be"
    return f"{counted(len(unread), 'restore point')} {could} a nearer one{than}. {told}{more}"


def rows_told(rows: int, unread: int, deletes: int = 0) -> str:
    """`20 rows`; `0 rows and 12 deletes`; `at least 20 rows (1 manifest cannot be read)`; `an unknown number of rows
    (1 manifest cannot be read)`. `unread`: manifests whose rows are not among them."""
    told = counted(rows, "row") + (f" and {counted(deletes, 'delete')}" if deletes else "")
    if not unread:
        return told
    why = f"({counted(unread, 'manifest')} cannot be read)"
    return f"at least {told} {why}" if rows or deletes else f"an unknown number of rows {why}"


def rows_of(leaks: Iterable[LeakedManifest]) -> str:
    """The same of these manifests."""
    those = tuple(leaks)
    deletes = sum(leak.deletes for leak in those)
    return rows_told(sum(leak.rows or 0 for leak in those), sum(leak.rows is None for leak in those), deletes)


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


def all_are_live(leak: LeakedManifest, gaps: GapsFinding | None, contract: TableContract) -> bool:
    """Whether every position between those of the manifest was looked at, and none is missing; bounds as above."""
    low, high = leak.position_from, leak.position_until
    if gaps is None or contract.position_partition is not None or low is None or high is None:
        return False
    if gaps.lowest is None or gaps.highest is None or not gaps.lowest <= low:
        return False
    is_missing = any(gap.first <= high and low <= gap.last for gap in gaps.gaps)
    return high <= _named_until(gaps, gaps.highest, low) and not is_missing


def _unnamed(gaps: GapsFinding) -> int:
    return gaps.missing - sum(gap.size for gap in gaps.gaps)


def _named_until(gaps: GapsFinding, highest: int, lowest: int) -> int:
    """Up to where every gap from `lowest` on is named."""
    return highest if not _unnamed(gaps) else max((gap.last for gap in gaps.gaps), default=lowest - 1)
