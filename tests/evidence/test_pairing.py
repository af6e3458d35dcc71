"""A restore point pairs with a table state, or the reason why not is told."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters.iceberg.reading import table_state
from bot.domain.evidence import Verdict
from bot.domain.findings import Pairing, PairingFinding, PairVerdict
from bot.domain.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.looked import NotSeen, Seen
from bot.domain.pairing import pairing
from bot.domain.table import TableState
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import run_of
from tests.tables import OPERATOR, ORDERS, OrdersTable, job, unseen

FIXTURES = Path(__file__).with_name("fixtures")
NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
V1D_STOPPED = JobId("4588180333ca4b09abdecd44f5c9d32c")
"""Run of `v1d`: commits 1, 2, 3, 5, 6, 7 and its stop-with-savepoint 8; 4 was an intermediate savepoint."""


def recorded(name: str) -> TableState:
    """A table that real Flink jobs wrote."""
    metadata = TableMetadataUtil.parse_raw((FIXTURES / f"{name}.metadata.json").read_text(encoding="utf-8"))
    return table_state(ORDERS, metadata, f"{name}.metadata.json", NOON)


def stored(
    job_id: JobId | None,
    checkpoint: int | None,
    kind: CheckpointKind = CheckpointKind.STOP_SAVEPOINT,
    *,
    owes: tuple[int, ...] | None = None,
    operators: tuple[OperatorId, ...] = (),
    problem: str | None = None,
    age: timedelta = timedelta(0),
) -> StoredCheckpoint:
    """A restore point on storage; `owes` are the checkpoints of its pending manifests, None: not readable."""
    return StoredCheckpoint(
        path=f"file:/state/{checkpoint}",
        kind=kind,
        checkpoint_id=None if checkpoint is None else CheckpointId(checkpoint),
        job_id=job_id,
        written_at=NOON - age,
        pending_manifests=tuple(f"{job_id}-{OPERATOR}-00000-0-{owed}-00001.avro" for owed in owes or ()),
        is_committer_read=owes is not None,
        operator_ids=operators,
        digest="d" * 64,
        problem=problem,
    )


def judged(point: StoredCheckpoint, table: TableState, *runs: JobRun) -> Pairing:
    """The rule's word, with Flink remembering these runs."""
    return pairing(point, table, Seen(source="Flink", values=runs))


def committed(table: TableState, job_id: JobId, checkpoint: int) -> SnapshotId:
    """The snapshot with this checkpoint."""
    (found,) = [s.snapshot_id for s in table.snapshots if (s.job_id, s.checkpoint_id) == (job_id, checkpoint)]
    return found


def test_a_stop_savepoint_pairs_with_the_snapshot_of_its_id() -> None:
    """Stop-with-savepoint commits as its last act: a real V1 run's savepoint 8 pairs with its snapshot 8."""
    table = recorded("v1d")

    found = judged(stored(V1D_STOPPED, 8, owes=(8,)), table)

    assert found.verdict is PairVerdict.PAIRED
    assert found.snapshot_id == committed(table, V1D_STOPPED, 8)
    assert "is on main" in found.reason


def test_an_intermediate_savepoint_of_the_v1_sink_is_behind() -> None:
    """Savepoint 4 was merged into checkpoint 5's commit, so no table state matches it."""
    found = judged(stored(V1D_STOPPED, 4, CheckpointKind.SAVEPOINT, owes=(4,)), recorded("v1d"))

    assert (found.verdict, found.snapshot_id) == (PairVerdict.BEHIND, None)
    assert "went on to commit checkpoint 5" in found.reason


def test_an_intermediate_savepoint_with_its_own_snapshot_pairs(orders: OrdersTable) -> None:
    """The V2 sink commits a savepoint's id by itself once the job goes on."""
    orders.commits("a", 3, range(10))
    own = orders.commits("a", 4, range(10, 20))
    orders.commits("a", 5, range(20, 30))

    found = judged(stored(job("a"), 4, CheckpointKind.SAVEPOINT, owes=(4,)), orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, own)


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


def test_two_sinks_of_a_run_are_whole_after_the_later_commit(orders: OrdersTable) -> None:
    """A job that writes one table by two sinks commits a checkpoint twice, rightly."""
    other = OperatorId("f" * 32)
    orders.commits("a", 3, range(10))
    later = orders.commits("a", 3, range(10, 20), summary={"flink.operator-id": other})

    found = judged(stored(job("a"), 3, owes=(3,), operators=(OPERATOR, other)), orders.state())

    assert (found.verdict, found.snapshot_id) == (PairVerdict.PAIRED, later)
    assert "the last of 2, one for each sink" in found.reason


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
