"""What `duplicate_commits` could not compare: commits of which nothing tells the part of the source, and rows without a
position."""

from collections.abc import Sequence
from typing import NamedTuple

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import Snapshot
from spark_tasks._covered import Covered
from spark_tasks._null_positions import without_position
from spark_tasks._source_ranges import source_columns
from spark_tasks._source_runs import run_of
from spark_tasks._window import Reach
from spark_tasks._words import absent_columns, ids


class Doubts(NamedTuple):
    """Among commits that Flink made: others are not compared by what they cover of the source."""

    unseen: tuple[NotSeen, ...] = ()
    are_of_rows: bool = True
    """Whether what could be told of whole commits was: rows that say nothing of the source are left, or files of which
    only the rows do."""


def doubts_of(ask: Ask, reach: Reach, commits: Sequence[Snapshot], covered: Covered) -> Doubts:
    """Where the contract names a position: one that cannot be read as a number, commits that state none, and rows of
    the window that have none. Nothing where the window brought no row, or no other commit did."""
    placed = [each for each in commits if _brings_rows(each, covered) and run_of(ask.observation.table, each)]
    inside = {each.snapshot_id for each in reach.main}
    of_window = [each for each in placed if each.snapshot_id in inside]
    if ask.contract.position is None or not of_window or len(placed) < 2:
        return Doubts()
    if unfit := _unfit(ask):
        return Doubts(unfit)
    unstated = [each.snapshot_id for each in placed if each.snapshot_id in covered.unstated]
    bare = sum(covered.bare.get(each.snapshot_id, 0) for each in of_window)
    mixed = [each.snapshot_id for each in placed if each.snapshot_id in covered.mixed]
    unseen = [_without_bounds(ask, unstated, covered)] if unstated else []
    if mixed:
        unseen.append(_of_several_partitions(ask, mixed, covered))
    if bare:
        rows = sum(each.counted("added-records") for each in of_window)
        doubt = "it repeats another" if bare == 1 else "these repeat others"
        unseen.append(without_position(ask, ask.contract.position, bare, rows, doubt))
    return Doubts(tuple(unseen), are_of_rows=not unstated)


def runs_apart(ask: Ask, reach: Reach, commits: Sequence[Snapshot], covered: Covered) -> NotSeen | None:
    """Where two runs wrote, and not all that they brought can be compared, neither by position nor by event time. Of
    the window's commits without any position `doubts_of` tells."""
    read = [(each, run) for each in commits if (run := run_of(ask.observation.table, each)) is not None]
    runs = {run for _, run in read}
    bare = {each.snapshot_id for each in reach.main if _is_bare(each, covered)}
    placed = [each.snapshot_id for each, _ in read if _brings_rows(each, covered) and each.snapshot_id not in bare]
    if len(runs) < 2 or covered.known(placed):
        return None
    return NotSeen(
        source="contract.position",
        reason=f"Whether {len(runs)} runs brought the same part of the source cannot be told: the files of "
        f"{ask.observation.table.name} state no comparable bounds of a position or event time.",
        remedy="Name position (with position_partition) or event_time in the contract, and keep their metrics.",
    )


def _brings_rows(commit: Snapshot, covered: Covered) -> bool:
    """By its own manifests; a summary only names a counter that is above 0, so an empty commit has none."""
    return commit.snapshot_id in covered.commits or commit.counted("added-data-files") > 0


def _is_bare(commit: Snapshot, covered: Covered) -> bool:
    return covered.bare.get(commit.snapshot_id, 0) >= commit.counted("added-records") > 0


def _unfit(ask: Ask) -> tuple[NotSeen, ...]:
    contract, table = ask.contract, ask.observation.table
    if missing := absent_columns(ask, contract.position, contract.position_partition):
        return missing
    if source_columns(table, contract)[0] is not None:
        return ()
    kind = next(each.type for each in table.columns if each.name == contract.position)
    return (
        NotSeen(
            source=f"column {contract.position} of {table.name}",
            reason=f"Column {contract.position} holds {kind}; positions that are no whole numbers are not compared.",
            remedy="Name another column as position, or none.",
        ),
    )


def _without_bounds(ask: Ask, unstated: Sequence[SnapshotId], covered: Covered) -> NotSeen:
    columns = [name for name in (ask.contract.position_partition, ask.contract.position) if name is not None]
    state = "states" if len(unstated) == 1 else "state"
    why = f" ({covered.unread})" if covered.unread else ""
    return NotSeen(
        source=f"bounds of {' and '.join(columns)} in the files of {ask.observation.table.name}",
        reason=f"{counted(len(unstated), 'commit')} ({ids(unstated)}) {state} no bounds of {' or '.join(columns)}, and "
        f"the rows were not read instead{why}: whether what was brought there came before, or again, is not known.",
        remedy="Ask again with a shorter window, or for replayed_rows, which compares the rows. So that files to come "
        f"state it, set {' and '.join(f'write.metadata.metrics.column.{name}' for name in columns)} to full.",
    )


def _of_several_partitions(ask: Ask, mixed: Sequence[SnapshotId], covered: Covered) -> NotSeen:
    named, bring = ask.contract.position_partition, "brings" if len(mixed) == 1 else "bring"
    why = f" ({covered.unread})" if covered.unread else ""
    return NotSeen(
        source=f"bounds of {named} in the files of {ask.observation.table.name}",
        reason=f"{counted(len(mixed), 'commit')} ({ids(mixed)}) {bring} several source partitions in one file, of "
        f"which its bounds tell nothing, and the rows were not read instead{why}: whether what was brought there came "
        "before, or again, is not known.",
        remedy="Ask again with a shorter window, or for replayed_rows, which compares the rows. Where the table is "
        f"partitioned by {named}, each file holds one.",
    )
