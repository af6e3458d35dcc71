"""The Flink manifests of a run that were never committed, and whether their rows can still be appended.

Whether the rows of Flink manifests that nothing will commit are in the table all the same: the source was read
again, and live rows have their positions.
"""

from collections.abc import Mapping, Sequence

from bot.diagnosis._support.asked import answers
from bot.diagnosis._support.case import listed
from bot.history.case import Case, once_a_case
from bot.history.counted import Counted
from bot.history.unread_points import rows_of, some_are_live
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.ids import CheckpointId, JobId, short_job
from bot.observation.sentences import counted


def leaks_of(case: Case, job: JobId, *standings: LeakStanding) -> tuple[LeakedManifest, ...]:
    """Those of the run that stand so, by checkpoint id; empty also before anybody looked."""
    found = case.leaked.of(*standings) if case.leaked else ()
    return tuple(sorted((leak for leak in found if leak.job_id == job), key=lambda leak: leak.checkpoint_id))


def up_to(leaks: Sequence[LeakedManifest], checkpoint: CheckpointId) -> tuple[LeakedManifest, ...]:
    """Those of checkpoints at or below this one."""
    return tuple(leak for leak in leaks if leak.checkpoint_id <= checkpoint)


def can_be_appended(case: Case, leaks: Sequence[LeakedManifest]) -> bool:
    """Whether every one could be read, lists data files alone, and all of them are there, so that its rows are not
    lost, and none of them came to the table since. A delete that is appended now would take off rows that came since.
    """
    are_whole = all(leak.files is not None and not leak.missing_files for leak in leaks)
    came_since = any(some_are_live(leak, case.gaps, case.contract) for leak in leaks)
    return bool(leaks) and are_whole and not came_since and not any(leak.has_deletes for leak in leaks)


def in_words(leaks: Sequence[LeakedManifest]) -> str:
    """One sentence: how many, of which checkpoints, with how many rows, and whether they can be had."""
    ids = sorted({leak.checkpoint_id for leak in leaks})
    unread = sum(1 for leak in leaks if leak.rows is None)
    gone = sum(leak.missing_files for leak in leaks)
    tail = f"{gone} of their files are gone" if gone else "their files are all there"
    if unread:
        tail = f"what {'it lists' if len(leaks) == 1 else f'{unread} of them list'} cannot be had from it"
    return (
        f"{counted(len(leaks), 'Flink manifest')} of run {short_job(leaks[0].job_id)}, of "
        f"{'checkpoint' if len(ids) == 1 else 'checkpoints'} {listed(ids)}, still on storage with "
        f"{rows_of(leaks)} never committed; {tail}."
    )


def came_again(leak: LeakedManifest, case: Case) -> bool | None:
    """None: no position is known to be missing, and nobody knows whether that covers those of the manifest. Where a
    position is missing, or none was looked for, its rows count as lost.

    Deletes have no position, so nobody knows it of them. Bounds of the search are of all source partitions together:
    of several, the exact ranges of the manifest and of main's commits tell.
    """
    gaps, low, high = case.gaps, leak.position_from, leak.position_until
    if leak.is_empty:
        return True
    if gaps is None or gaps.missing:
        return False
    if low is None or high is None or not answers(case, "missing_positions"):
        return None
    is_inside = gaps.lowest is not None and gaps.highest is not None and gaps.lowest <= low and high <= gaps.highest
    if case.contract.position_partition is None:
        return is_inside
    return True if _lies_within(leak, _ends(case)) else None if is_inside else False


@once_a_case
def _ends(case: Case) -> Mapping[str | None, tuple[int, int]]:
    return Counted(case).ends


def _lies_within(leak: LeakedManifest, ends: Mapping[str | None, tuple[int, int]]) -> bool:
    """Whether main has positions on both sides of all its rows, in each of their source partitions: then no row of it
    is missing unless a position is."""
    empty = (0, -1)
    return leak.ranges is not None and all(
        ends.get(each.partition, empty)[0] <= each.low and each.high <= ends.get(each.partition, empty)[1]
        for each in leak.ranges
    )


def in_doubt(leaks: tuple[LeakedManifest, ...]) -> str:
    """What is missing to know it, a clause."""
    of = f" with {rows_of(known)}" if (known := [leak for leak in leaks if leak.rows or leak.has_deletes]) else ""
    return (
        f"whether the rows of {counted(len(leaks), 'Flink manifest')}{of} that nothing commits were read again: no "
        "position is missing among those that were looked at, and theirs are not known"
    )
