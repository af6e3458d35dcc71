"""Why a restore point has no table state: behind, ahead, drained, of another run or sink, or unreadable."""

import pytest

from bot.domain.findings import PairVerdict
from bot.domain.flink import CheckpointKind
from tests.evidence.restore_points import V1D_STOPPED, judged, recorded, stored
from tests.tables import OPERATOR, OrdersTable, job


def test_an_intermediate_savepoint_of_the_v1_sink_is_behind() -> None:
    """Savepoint 4 was merged into checkpoint 5's commit, so no table state matches it."""
    found = judged(stored(V1D_STOPPED, 4, CheckpointKind.SAVEPOINT, owes=(4,)), recorded("v1d"))

    assert (found.verdict, found.snapshot_id) == (PairVerdict.BEHIND, None)
    assert "went on to commit checkpoint 5" in found.reason


def test_a_drained_run_has_no_partner() -> None:
    """After `drain: true` the last commit carries Long.MAX_VALUE, and a restored V1 job never commits."""
    table = recorded("v1f")
    run = table.snapshots[0].job_id

    found = judged(stored(run, 3, owes=()), table)

    assert found.verdict is PairVerdict.BEHIND
    assert "drained" in found.reason


def test_a_checkpoint_that_no_commit_has_reached_is_ahead() -> None:
    """What it holds has not reached the table."""
    table = recorded("v1u")

    found = judged(stored(table.snapshots[0].job_id, 4, CheckpointKind.CHECKPOINT, owes=(4,)), table)

    assert found.verdict is PairVerdict.AHEAD
    assert "up to checkpoint 3" in found.reason


def test_a_drained_savepoint_is_behind_even_if_a_commit_carries_its_id(orders: OrdersTable) -> None:
    """Nobody may be led to restore from it; it is not unreadable either."""
    orders.commits("a", 3, range(10))
    drained = stored(job("a"), 3, owes=(), problem="It was taken with drain: true.")
    point = drained.model_copy(update={"is_drained": True})

    found = judged(point, orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.BEHIND, None)
    assert "drain: true" in found.reason


@pytest.mark.parametrize(
    ("owes", "says"),
    [((5,), "commits it first, if its Flink manifests are still on storage"), (None, "state could not be read")],
)
def test_what_a_point_ahead_owes_is_said(orders: OrdersTable, owes: tuple[int, ...] | None, says: str) -> None:
    """A crash between checkpoint and commit mends itself; a state that nobody could read promises nothing."""
    orders.commits("a", 4, range(10))

    found = judged(stored(job("a"), 5, CheckpointKind.CHECKPOINT, owes=owes), orders.state())

    assert found.verdict is PairVerdict.AHEAD
    assert says in found.reason


def test_a_withheld_runs_point_says_what_waits(orders: OrdersTable) -> None:
    """A V1 run that was restored below its maximum has committed nothing under its own id yet (F3)."""
    orders.commits("a", 9, range(10))

    found = judged(stored(job("b"), 7, CheckpointKind.CHECKPOINT, owes=(5, 6, 7)), orders.state())

    assert found.verdict is PairVerdict.UNPAIRABLE
    assert found.reason.endswith("its committer still owes checkpoints 5 to 7.")


def test_only_commits_of_the_same_run_count(orders: OrdersTable) -> None:
    """The same checkpoint id of another run is another state."""
    orders.commits("a", 3, range(10))

    found = judged(stored(job("b"), 3, owes=(3,)), orders.state())

    assert found.verdict is PairVerdict.UNPAIRABLE


def test_commits_of_another_sink_of_the_run_do_not_count(orders: OrdersTable) -> None:
    """Where a restore point names its operator, another operator's commit with its id is no partner."""
    other = {"flink.operator-id": "f" * 32}
    mine = orders.commits("a", 2, range(10))
    orders.commits("a", 3, range(10), summary=other)

    found = judged(stored(job("a"), 3, owes=(3,), operators=(OPERATOR,)), orders.state())

    assert found.verdict is PairVerdict.AHEAD
    assert mine in orders.state().chain_ids


def test_what_cannot_be_read_or_named_is_told_apart(orders: OrdersTable) -> None:
    """Unreadable and unpairable are different findings."""
    orders.commits("a", 3, range(10))
    table = orders.state()

    unreadable = judged(stored(None, None, problem="Its _metadata is cut off."), table)
    nameless = judged(stored(None, 3), table)

    assert (unreadable.verdict, unreadable.reason) == (PairVerdict.UNREADABLE, "Its _metadata is cut off.")
    assert nameless.verdict is PairVerdict.UNPAIRABLE
