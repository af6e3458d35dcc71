"""A manifest below which another run went on: read again, lost, or nobody can tell."""

from datetime import timedelta

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, JobRun, Restored
from bot.domain.ids import CheckpointId
from tests.evidence.conftest import Asks
from tests.evidence.leaked_files import ask_about, ended, finding_of, later, only, told
from tests.evidence.test_ledger import completed, run_of
from tests.tables import CONTRACT, OrdersTable, job


def answered(orders: OrdersTable, asks: Asks, *successor: JobRun) -> Answer:
    """Run a leaves checkpoint 3 uncommitted; run b goes on with 1 and 2."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    orders.commits("b", 1, range(30, 40))
    orders.commits("b", 2, range(40, 50))
    return asks("leaked_manifests", ask_about(orders, before, ended("a"), *successor))


def went_back(path: str) -> JobRun:
    """Run b, whose newest restore, of a checkpoint 2, came after everything that the table has."""
    run = later("b")
    at = run.started_at + timedelta(seconds=1)
    point = Restored(checkpoint_id=CheckpointId(2), at=at, is_savepoint=False, path=path)
    return run.model_copy(update={"restored": point, "restored_count": 1, "completed_count": 20})


def begins(orders: OrdersTable, name: str) -> JobRun:
    """A run that was started without state when the one manifest was written."""
    (leak,) = orders.flink_manifests()
    return run_of(name).model_copy(update={"started_at": leak.written_at})


def begun_with_nothing(
    orders: OrdersTable, asks: Asks, *brought: range, contract: TableContract | None = None, **changes: object
) -> Answer:
    """Run a leaves 20 to 29 in checkpoint 3; then run b begins with nothing, and brings these positions."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    run = begins(orders, "b").model_copy(update=changes)
    for checkpoint, positions in enumerate(brought, 1):
        orders.commits("b", checkpoint, positions)
    ask = ask_about(orders, before, ended("a"), run)
    return asks("leaked_manifests", ask if contract is None else ask.model_copy(update={"contract": contract}))


@pytest.mark.parametrize(
    "changes", [{}, {"state": "CANCELED", "completed_count": 2}], ids=["running", "over, checkpoints told"]
)
def test_what_a_run_without_state_began_behind_is_lost(
    orders: OrdersTable, asks: Asks, changes: dict[str, object]
) -> None:
    """It began at the latest, or where its offsets said: what it brought first lies behind the rows."""
    answer = begun_with_nothing(orders, asks, range(30, 40), range(40, 50), **changes)

    assert answer.verdict is Verdict.CONFIRMED
    assert told(answer) == [(3, LeakStanding.LOST_STATE, 1, 10)]
    assert finding_of(answer).lost_rows == 10
    assert "restored from nothing, and the first rows that it brought lie behind these" in only(answer).reason


@pytest.mark.parametrize(
    "brought",
    [(range(30),), (range(10), range(10, 20)), (range(29, 40),), (range(30, 40), range(25, 30)), ()],
    ids=["again", "before them yet", "one of them", "a second partition", "nothing yet"],
)
def test_what_a_run_without_state_may_have_read_again_is_not_called_lost(
    orders: OrdersTable, asks: Asks, brought: tuple[range, ...]
) -> None:
    """It began at the earliest, or at a time: it has brought the rows, or may come to them yet."""
    answer = begun_with_nothing(orders, asks, *brought)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]
    assert "restored from nothing: where its source began, and whether it has read these rows" in only(answer).reason


@pytest.mark.parametrize(
    "changes",
    [{"position": None}, {"position_partition": "source_partition"}, {"redacted": ("source_position",)}],
    ids=["no position", "several partitions", "hidden"],
)
def test_without_positions_that_tell_nobody_knows_where_a_run_without_state_began(
    orders: OrdersTable, asks: Asks, changes: dict[str, object]
) -> None:
    """As where the contract names several source partitions."""
    answer = begun_with_nothing(orders, asks, range(30, 40), contract=CONTRACT.model_copy(update=changes))

    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]


@pytest.mark.parametrize("before_it", ["rolled back", "never committed", "under its id before", "expired"])
def test_where_something_may_have_come_before_its_first_commit_nobody_knows_where_it_began(
    orders: OrdersTable, asks: Asks, before_it: str
) -> None:
    """Run b may have read the rows with that."""
    good = orders.commits("b" if before_it == "under its id before" else "a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    run = begins(orders, "b")
    if before_it == "rolled back":
        orders.commits("b", 1, range(15, 30))
        orders.rolls_back_to(good)
    elif before_it == "never committed":
        orders.leaves_manifest("b", 1, {"one.parquet": range(15, 30)})
    first = orders.commits("b", 2, range(30, 40))
    ask = ask_about(orders, None, ended("a"), run)
    if before_it == "expired":
        orders.commits("b", 3, range(40, 50))
        orders.expires(good, first)
        ask = ask_about(orders, None, ended("a"), run)

    answer = asks("leaked_manifests", ask)

    of_a = [each.standing for each in finding_of(answer).manifests if each.job_id == job("a")]
    assert of_a == [LeakStanding.UNTOLD]


@pytest.mark.parametrize("successor", [(), (ended("b"),)], ids=["forgotten", "only its end is known"])
def test_nothing_is_ruled_out_where_the_start_is_not_known(
    orders: OrdersTable, asks: Asks, successor: tuple[JobRun, ...]
) -> None:
    """Low ids alone do not tell whether the rows were read again."""
    answer = answered(orders, asks, *successor)

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]
    assert answer.headline == (
        "Nobody can tell whether the rows of checkpoint 3 of run aaaaaa were read again, or are lost."
    )


@pytest.mark.parametrize("is_listed", [True, False], ids=["by its history", "by the folder"])
def test_a_failover_to_its_own_checkpoint_tells_nothing(orders: OrdersTable, asks: Asks, is_listed: bool) -> None:
    """Flink shows the newest restore only: where the run began is not known any more."""
    path = "file:/state/x/chk-2" if is_listed else f"file:/state/{job('b')}/chk-2"
    own = went_back(path)
    listed = (completed(2, CheckpointKind.CHECKPOINT),) if is_listed else ()

    answer = answered(orders, asks, own.model_copy(update={"checkpoints": listed}))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert only(answer).standing is LeakStanding.UNTOLD


def test_a_restore_from_below_it_is_given_up(orders: OrdersTable, asks: Asks) -> None:
    """Flink shows that the run came from a point of the old one, below the manifest: its rows were read again."""
    answer = answered(orders, asks, went_back(f"file:/state/{job('a')}/chk-2"))

    assert answer.verdict is Verdict.RULED_OUT
    assert only(answer).standing is LeakStanding.GIVEN_UP


@pytest.mark.parametrize("successor", [(), (ended("b"),), (went_back(f"file:/state/{job('b')}/chk-9"),)])
def test_higher_ids_do_not_tell_where_the_next_run_began(
    orders: OrdersTable, asks: Asks, successor: tuple[JobRun, ...]
) -> None:
    """Run b may have come from checkpoint 2 and lost an attempt at 3: only its start would tell."""
    before = orders.commits("a", 2, range(20))
    orders.leaves_manifest("a", 3, {"three.parquet": range(20, 30)})
    orders.commits("b", 4, range(30, 40))

    answer = asks("leaked_manifests", ask_about(orders, before, ended("a"), *successor))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert told(answer) == [(3, LeakStanding.UNTOLD, 1, 10)]
