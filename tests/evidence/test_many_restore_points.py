"""Restore points are many, and so are snapshots: each snapshot is looked at once for all of them."""

from collections.abc import Iterator

import pytest

from bot.domain.columns import Lazy
from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.ids import DRAINED, CheckpointId
from bot.domain.looked import Seen
from bot.domain.pairing import pairing, pairings
from bot.domain.run_commits import RunCommits
from bot.domain.table import Snapshot, TableState
from tests.cases import Tale, job_id
from tests.evidence.restore_points import stored

NOBODY = Seen(source="Flink", values=())


class Counted(Lazy[Snapshot]):
    """Counts how often a snapshot is looked at."""

    def __init__(self, snapshots: tuple[Snapshot, ...]) -> None:
        self._snapshots = snapshots
        self.looks = 0

    def __len__(self) -> int:
        return len(self._snapshots)

    def __iter__(self) -> Iterator[Snapshot]:
        return map(self._at, range(len(self)))

    def _at(self, place: int) -> Snapshot:
        self.looks += 1
        return self._snapshots[place]


def table_of(*checkpoints: int) -> tuple[TableState, Counted]:
    """One commit of run a for each checkpoint id, and what counts the looks at them."""
    table = Tale().flink_runs("a").commits("a", *checkpoints).table
    counted = Counted(tuple(table.snapshots))
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    return TableState.model_validate(fields | {"snapshots": counted}), counted


def points(*checkpoints: int) -> list[StoredCheckpoint]:
    """Restore points of run a that owe nothing."""
    return [stored(job_id("a"), each, owes=()) for each in checkpoints]


@pytest.mark.parametrize("many", [1, 40])
def test_the_snapshots_are_read_as_often_for_many_points_as_for_one(many: int) -> None:
    """A table of 10,000 commits with 100 checkpoints took a million looks."""
    table, counted = table_of(*range(1, 31))
    assert table.chain_ids
    counted.looks = 0

    found = pairings(points(*range(1, many + 1)), table, NOBODY)

    assert [each.verdict for each in found] == [PairVerdict.PAIRED] * many
    assert counted.looks == 30


def test_many_at_once_are_judged_as_each_alone() -> None:
    """Exact ids, gaps, ids above and below, ids that begin again, and a drained end."""
    for checkpoints in ((2, 3, 6), (5, 6, 1, 2, 3), (1, 2, int(DRAINED))):
        table, _ = table_of(*checkpoints)
        asked = [*points(*range(1, 9)), stored(job_id("b"), 3, owes=()), stored(job_id("a"), 4)]

        together = {each.path + str(each.job_id): each for each in pairings(asked[:9], table, NOBODY)}

        assert together == {each.path + str(each.job_id): pairing(each, table, NOBODY) for each in asked[:9]}


@pytest.mark.parametrize(
    ("asked", "below", "above"), [(1, None, 3), (3, None, 6), (4, 3, 6), (6, 3, None), (9, 6, None)]
)
def test_the_neighbours_of_a_checkpoint_are_the_nearest_ids(asked: int, below: int | None, above: int | None) -> None:
    """A drained job's last id is no neighbour."""
    table, _ = table_of(3, 6, int(DRAINED))
    commits = RunCommits(tuple(table.snapshots))

    assert commits.is_drained
    assert (commits.below(CheckpointId(asked)), commits.above(CheckpointId(asked))) == (below, above)
