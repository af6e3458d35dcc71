"""A hole whose rows were put back does not hide one that came later."""

import pytest

from bot.diagnosis import rolled_back_while_running
from bot.domain.diagnosis import CannotTell, Case, Excluded, Matches
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.ids import SnapshotId, short
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.found import hole


def put_back() -> tuple[World, Looked]:
    """Main went from 4 back to 2, the job went on with 5, and evidence has found the rows of 3 and 4 in the table."""
    world = World()
    committed = [world.reads(10) for _ in range(4)]
    goes_back(world, committed[1])
    world.reads(10)
    looked = look(world)
    return world, looked._replace(found={**looked.found, "gaps": hole(0)})


def goes_back(world: World, snapshot: SnapshotId | None) -> None:
    """Main is set to that commit."""
    assert snapshot is not None
    world.rolls_back_to(snapshot)


def lost_again(*, goes_on: bool) -> tuple[World, Looked, SnapshotId]:
    """Then main loses 6, too; and the snapshot that it was set to."""
    world, looked = put_back()
    target = world.tale.head
    world.reads(10)
    goes_back(world, target)
    if goes_on:
        world.reads(10)
    assert target is not None
    return world, looked, target


def test_rows_that_were_put_back_are_no_hole() -> None:
    """Evidence that looked since found all of them."""
    assert isinstance(rolled_back_while_running.examine(case_of(*put_back())), Excluded)


@pytest.mark.parametrize("goes_on", [True, False])
def test_a_later_hole_is_told_by_itself(goes_on: bool) -> None:
    """What was found before it says nothing of it; and nothing is taken back that was mended."""
    world, looked, target = lost_again(goes_on=goes_on)

    found = rolled_back_while_running.examine(case_of(world, looked))

    assert isinstance(found, Matches)
    assert (target, world.tale.at("a", 6)) == (found.last_good, found.newest_wrong)
    assert not any("once more" in reason for reason in found.reasons)


def test_without_flink_nobody_knows_whether_a_later_hole_comes() -> None:
    """The one that was put back settles nothing of it."""
    world, looked, _ = lost_again(goes_on=False)
    world.tale.flink_is_down()

    assert isinstance(rolled_back_while_running.examine(case_of(world, looked)), CannotTell)


def test_a_hole_that_the_next_commit_leaves_is_told_beside_one_that_stands() -> None:
    """Before the job makes it: the first hole alone would say that all of it is long done."""
    world = World()
    committed = [world.reads(10) for _ in range(4)]
    goes_back(world, committed[1])
    stands = world.reads(10)
    world.reads(10)
    goes_back(world, stands)

    found = rolled_back_while_running.examine(case_of(world, look(world)))

    assert isinstance(found, Matches)
    assert (committed[1], world.tale.at("a", 6)) == (found.last_good, found.newest_wrong)
    assert any("its next commit leaves that hole, too" in reason for reason in found.reasons)


def looked_at_both(*gaps: tuple[int, int], lowest: int = 0, missing: int | None = None, bounds: bool = True) -> Case:
    """Evidence has looked after the second hole, and misses these positions. Commit n holds 10 n - 10 to 10 n - 1."""
    world, _, _ = lost_again(goes_on=True)
    case = case_of(world, look(world))
    assert case.ledger is not None
    numbers = {s.snapshot_id: s.checkpoint_id or 0 for s in world.tale.snapshots}
    rows = tuple(
        row.model_copy(
            update={"position_from": 10 * n - 10, "position_until": 10 * n - 1}
            if bounds or n != 3
            else {"position_from": None, "position_until": None}
        )
        for row in case.ledger.rows
        for n in [numbers[row.snapshot_id]]
    )
    told = tuple(PositionGap(first=first, last=last) for first, last in gaps)
    found = GapsFinding(
        lowest=lowest, highest=69, positions=0, gaps=told,
        missing=sum(gap.last - gap.first + 1 for gap in told) if missing is None else missing,
    )  # fmt: skip
    return case.model_copy(update={"ledger": case.ledger.model_copy(update={"rows": rows}), "gaps": found})


def test_the_hole_is_told_in_which_positions_are_missing() -> None:
    """The rows of the first one are all there: going back below it would undo what was mended."""
    case = looked_at_both((50, 59))

    found = rolled_back_while_running.examine(case)

    assert isinstance(found, Matches)
    assert short(found.last_good) in found.headline
    assert 5 == case.observation.table.by_id[found.last_good or SnapshotId(0)].checkpoint_id


@pytest.mark.parametrize(
    "case",
    [
        looked_at_both((39, 39), (50, 59)),
        looked_at_both((20, 20), (50, 59)),
        looked_at_both((50, 59), missing=11),
        looked_at_both((50, 59), lowest=21),
        looked_at_both((50, 59), bounds=False),
    ],
    ids=["its last row", "its first row", "a gap that is not named", "not looked so far down", "unknown bounds"],
)
def test_a_hole_of_which_a_row_may_be_missing_is_told(case: Case) -> None:
    """Below all others: a rewind would have to begin there."""
    found = rolled_back_while_running.examine(case)

    assert isinstance(found, Matches)
    assert 2 == case.observation.table.by_id[found.last_good or SnapshotId(0)].checkpoint_id


def test_bounds_of_several_source_partitions_fill_no_hole() -> None:
    """They are of all of them together: a gap of one may lie anywhere."""
    case = looked_at_both((50, 59))
    contract = case.contract.model_copy(update={"position_partition": "source_partition"})

    found = rolled_back_while_running.examine(case.model_copy(update={"contract": contract}))

    assert isinstance(found, Matches)
    assert 2 == case.observation.table.by_id[found.last_good or SnapshotId(0)].checkpoint_id


def test_gaps_that_were_named_before_a_hole_came_do_not_fill_it() -> None:
    """Nobody has looked for its rows yet."""
    case = looked_at_both((20, 29))
    early = tuple(
        each.model_copy(update={"head": case.observation.table.chain[1].snapshot_id}) for each in case.evidence
    )

    found = rolled_back_while_running.examine(case.model_copy(update={"evidence": early}))

    assert isinstance(found, Matches)
    assert any("once more" in reason for reason in found.reasons)
