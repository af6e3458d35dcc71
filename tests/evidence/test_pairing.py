"""A restore point pairs with a table state, or the reason why not is told."""

from datetime import timedelta

import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import PairingFinding, PairVerdict
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import OperatorId
from bot.domain.looked import NotSeen, Seen
from bot.domain.pairing import pairing
from tests.cases import Tale, job_id
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import V1D_STOPPED, committed, judged, recorded, stored
from tests.evidence.test_ledger import run_of
from tests.tables import OPERATOR, OrdersTable, job, unseen


def test_a_stop_savepoint_pairs_with_the_snapshot_of_its_id() -> None:
    """Stop-with-savepoint commits as its last act: a real V1 run's savepoint 8 pairs with its snapshot 8."""
    table = recorded("v1d")

    found = judged(stored(V1D_STOPPED, 8, owes=(8,)), table)

    assert found.verdict is PairVerdict.PAIRED
    assert found.snapshot_id == committed(table, V1D_STOPPED, 8)
    assert "is on main" in found.reason


def test_an_intermediate_savepoint_with_its_own_snapshot_pairs(orders: OrdersTable) -> None:
    """The V2 sink commits a savepoint's id by itself once the job goes on."""
    orders.commits("a", 3, range(10))
    own = orders.commits("a", 4, range(10, 20))
    orders.commits("a", 5, range(20, 30))

    found = judged(stored(job("a"), 4, CheckpointKind.SAVEPOINT, owes=(4,)), orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, own)


@pytest.mark.parametrize(("owes", "verdict"), [((), PairVerdict.PAIRED), (None, PairVerdict.AHEAD)])
def test_an_empty_checkpoint_pairs_with_the_commit_below_only_if_its_state_was_read(
    orders: OrdersTable, owes: tuple[int, ...] | None, verdict: PairVerdict
) -> None:
    """No pending manifest means that nothing is owed, unless the committer's state could not be read."""
    below = orders.commits("a", 3, range(10))

    found = judged(stored(job("a"), 5, owes=owes), orders.state())

    assert found.verdict is verdict
    assert found.snapshot_id == (below if verdict is PairVerdict.PAIRED else None)


def test_a_snapshot_that_was_rolled_back_still_pairs_and_is_told_so(orders: OrdersTable) -> None:
    """The table can be moved to it as long as it is listed."""
    good = orders.commits("a", 3, range(10))
    lost = orders.commits("a", 4, range(10, 20))
    orders.rolls_back_to(good)

    found = judged(stored(job("a"), 4, owes=(4,)), orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, lost)
    assert "was rolled back" in found.reason


def test_of_a_repeated_commit_the_first_is_the_partner(orders: OrdersTable) -> None:
    """When one checkpoint was committed twice, the second copy is the fault (F1)."""
    first = orders.commits("a", 3, range(10))
    orders.commits("a", 3, range(10))

    found = judged(stored(job("a"), 3, owes=(3,)), orders.state())

    assert found.snapshot_id == first
    assert "2 commits on main carry this checkpoint" in found.reason


def test_under_a_job_id_that_never_changes_each_life_pairs_with_its_own_commit(orders: OrdersTable) -> None:
    """A start without state counts from 1 again (F14): two commits carry checkpoint 2, told apart by time."""
    for checkpoint in (1, 2, 5):
        orders.commits("a", checkpoint, range(10))
    first = committed(orders.state(), job("a"), 2)
    for checkpoint in (1, 2, 3):
        orders.commits("a", checkpoint, range(10))
    table = orders.state()
    second = next(s for s in reversed(table.snapshots) if s.checkpoint_id == 2)
    point = stored(job("a"), 2, owes=())

    old = judged(point.model_copy(update={"written_at": table.by_id[first].committed_at}), table)
    new = judged(point.model_copy(update={"written_at": second.committed_at}), table)

    assert (old.snapshot_id, new.snapshot_id) == (first, second.snapshot_id)
    assert "commits on main carry" not in new.reason


def test_an_empty_savepoint_belongs_to_the_commit_of_its_own_life() -> None:
    """Table and job are rewound to 3 under one job id (F14), and 4 and 5 are committed again with other rows: the first
    life's savepoint 6 goes on from the first 5, whatever main has of that number now."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3, 4, 5).completes("a", 6)
    first, written_at = tale.head, tale.now
    tale.rolls_back_to("a", 3).flink_runs("a", restored=3).commits("a", 4, 5, rows=20)
    point = stored(job_id("a"), 6, CheckpointKind.SAVEPOINT, owes=())

    found = judged(point.model_copy(update={"written_at": written_at}), tale.table)

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, first)
    assert "was rolled back" in found.reason


def test_two_sinks_of_a_run_are_whole_after_the_later_commit(orders: OrdersTable) -> None:
    """A job that writes one table by two sinks commits a checkpoint twice, rightly."""
    other = OperatorId("f" * 32)
    orders.commits("a", 3, range(10))
    later = orders.commits("a", 3, range(10, 20), summary={"flink.operator-id": other})

    found = judged(stored(job("a"), 3, owes=(3,), operators=(OPERATOR, other)), orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, later)
    assert "the last of 2, one for each sink" in found.reason


@pytest.mark.parametrize(
    ("kind", "jobs", "stays"),
    [
        (CheckpointKind.STOP_SAVEPOINT, Seen(source="Flink", values=(run_of("a"),)), True),
        (CheckpointKind.CHECKPOINT, Seen(source="Flink", values=(run_of("a"),)), False),
        (
            CheckpointKind.CHECKPOINT,
            Seen(source="Flink", values=(run_of("a").model_copy(update={"state": "CANCELED"}),)),
            True,
        ),
        (CheckpointKind.CHECKPOINT, unseen("Flink"), False),
    ],
)
def test_a_retained_checkpoint_lasts_only_when_its_run_has_ended(
    orders: OrdersTable, kind: CheckpointKind, jobs: Seen[JobRun] | NotSeen, stays: bool
) -> None:
    """Flink drops checkpoints of a running job while people decide; unknown is taken for running."""
    orders.commits("a", 3, range(10))

    found = pairing(stored(job("a"), 3, kind, owes=(3,)), orders.state(), jobs)

    assert found.is_durable is stays


def test_the_task_lists_every_restore_point_newest_first(orders: OrdersTable, asks: Asks) -> None:
    """`confirmed` means that at least one pairs; the finding keeps them all."""
    before = orders.commits("a", 2, range(10))
    orders.commits("a", 3, range(10, 20))
    points = [stored(job("a"), 3, owes=(3,), age=timedelta(minutes=5)), stored(job("b"), 9, owes=(9,))]

    answer = asks("checkpoint_pairing", orders.ask(before, checkpoints=points))

    assert answer.verdict is Verdict.CONFIRMED
    assert isinstance(answer.finding, PairingFinding)
    assert [p.checkpoint_id for p in answer.finding.pairings] == [9, 3]
    assert "The newest is not always the right one: restore from the one that a proposal names." in answer.headline


def test_storage_that_could_not_be_listed_rules_nothing_out(orders: OrdersTable, asks: Asks) -> None:
    """Neither a folder that is down nor an unreadable file means that there is no restore point."""
    before = orders.commits("a", 2, range(10))
    broken = [stored(None, None, problem="Its _metadata is cut off.")]

    down = asks("checkpoint_pairing", orders.ask(before, checkpoints=unseen("the savepoint folder")))
    unreadable = asks("checkpoint_pairing", orders.ask(before, checkpoints=broken))
    empty = asks("checkpoint_pairing", orders.ask(before))

    assert [a.verdict for a in (down, unreadable, empty)] == [
        Verdict.INCONCLUSIVE,
        Verdict.INCONCLUSIVE,
        Verdict.RULED_OUT,
    ]
