"""Which commits bring what others had brought, each with its strongest proof; pure."""

from collections.abc import Mapping, Sequence
from typing import Literal

from bot.domain.findings import RepeatedCommit
from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState
from spark_tasks._brought import Shared
from spark_tasks._covered import Covered, Overlap
from spark_tasks._repeated_parts import rows_by_bounds
from spark_tasks._same_checkpoint import came_whole, earlier_of_checkpoint
from spark_tasks._source_runs import by_two_runs, read_twice
from spark_tasks._window import Reach

_How = Literal["same-files", "same-checkpoint", "same-source-range"]
STRENGTH: tuple[_How, ...] = ("same-files", "same-checkpoint", "same-source-range")
_Proof = tuple[int, int, int]
"""Place in `STRENGTH`, minus the size of what is repeated, place of the earlier commit: the least is the best."""


def repeating(
    table: TableState,
    commits: Sequence[Snapshot],
    reach: Reach,
    covered: Covered,
    shared: Mapping[tuple[SnapshotId, ...], Shared],
) -> tuple[tuple[RepeatedCommit, ...], dict[SnapshotId, list[Overlap]]]:
    """The repeating commits, and what each shares with those before it of which that is proven."""
    place = {commit.snapshot_id: number for number, commit in enumerate(commits)}
    by_id = {commit.snapshot_id: commit for commit in commits}
    proofs: dict[SnapshotId, list[_Proof]] = {}

    def proves(first: SnapshotId, again: SnapshotId, how: _How, size: int) -> None:
        proofs.setdefault(again, []).append((STRENGTH.index(how), -size, place[first]))

    of_files: dict[SnapshotId, int] = {}
    for together, (files, rows) in shared.items():
        first, *later = sorted(together, key=lambda snapshot: place[snapshot])
        for again in later:
            proves(first, again, "same-files", files)
            of_files[again] = of_files.get(again, 0) + rows
    overlapping: dict[tuple[SnapshotId, SnapshotId], list[Overlap]] = {}
    for overlap in covered.overlaps():
        first, again = sorted((overlap.one, overlap.other), key=lambda snapshot: place[snapshot])
        overlapping.setdefault((first, again), []).append(overlap)
    exact = {pair for pair, those in overlapping.items() if any(each.is_exact for each in those)}
    again_by_one = read_twice(table, commits, covered.positions, exact)
    proven: dict[SnapshotId, list[Overlap]] = {}
    for (first, again), those in overlapping.items():
        if (first, again) in again_by_one or by_two_runs(table, by_id[first], by_id[again]):
            proves(first, again, "same-source-range", sum(each.size for each in those))
            proven.setdefault(again, []).extend(those)
    for first, again in earlier_of_checkpoint(commits, set(overlapping), covered):
        proves(first, again, "same-checkpoint", by_id[again].counted("added-records"))
        proven.setdefault(again, []).extend(overlapping.get((first, again), ()))
    found = []
    for commit in (each for each in reach.main if each.snapshot_id in proofs):
        how, _, number = min(proofs[commit.snapshot_id])
        told = _told(commits[number], commit, STRENGTH[how])
        many = _too_many(told, commits[number], commit, covered, of_files)
        its = [each for each in proven.get(commit.snapshot_id, ()) if each.is_of_positions and not many]
        in_parts = rows_by_bounds(its, covered)
        found.append(told.model_copy(update={"too_many": many, "in_parts": in_parts}))
    return tuple(found), proven


def _told(first: Snapshot, again: Snapshot, how: _How) -> RepeatedCommit:
    return RepeatedCommit(
        first=first.snapshot_id,
        again=again.snapshot_id,
        how=how,
        job_id=again.job_id,
        checkpoint_id=again.checkpoint_id,
        rows=again.counted("added-records"),
        is_cherry_pick=again.is_pick,
    )


def _too_many(
    told: RepeatedCommit, first: Snapshot, again: Snapshot, covered: Covered, of_files: Mapping[SnapshotId, int]
) -> int | None:
    if told.how == "same-files":
        return of_files[told.again]
    if told.how == "same-checkpoint":
        return told.rows if came_whole(first, again, covered) else 0
    return None
