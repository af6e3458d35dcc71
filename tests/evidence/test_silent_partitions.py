"""A source partition that wrote until the window began and is silent since is not vouched for: it is idle, or lost."""

import random

import pyarrow as pa
import pytest

from bot.domain.evidence import Verdict
from bot.domain.ids import SnapshotId
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.evidence.test_source_goes_on import reading_on
from tests.tables import OrdersTable, job, of_flink, rows


def goes_on_without(orders: OrdersTable, places: range = range(10, 20)) -> SnapshotId:
    """Partitions 0 and 1 write the first checkpoint, partition 0 alone the second; where the window begins."""
    both = pa.concat_tables([rows(range(10)), rows(range(30), partition=1, orders=range(900, 930))])
    before = orders.appends(both, of_flink("a", 1))
    orders.appends(rows(places), of_flink("a", 2))
    return before


def test_a_partition_that_is_silent_in_the_whole_window_is_named(orders: OrdersTable, asks: Asks) -> None:
    """Partition 0 has no gap, and that says nothing of partition 1."""
    before = goes_on_without(orders)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding is None
    assert "source partition 1 (last 29) has no row after" in answer.headline
    assert "idle, or its rows are lost" in answer.headline
    assert "Ask the source" in answer.could_not_look[0].remedy


@pytest.mark.parametrize(
    ("run", "checkpoint", "following", "verdict", "said"),
    [
        ("a", 2, 30, Verdict.RULED_OUT, "No position is missing"),
        ("a", 3, 30, Verdict.RULED_OUT, "No position is missing"),
        ("a", 2, 35, Verdict.INCONCLUSIVE, "the job has read 5 offsets of partition 1 that made no row"),
        ("a", 2, -2, Verdict.INCONCLUSIVE, "idle, or its rows are lost"),
        ("a", 1, 30, Verdict.INCONCLUSIVE, "idle, or its rows are lost"),
        ("b", 3, 30, Verdict.INCONCLUSIVE, "idle, or its rows are lost"),
    ],
    ids=["idle", "idle since", "read and lost", "not begun", "older state", "another run"],
)
def test_the_jobs_own_state_tells_whether_it_is_idle(
    orders: OrdersTable, asks: Asks, run: str, checkpoint: int, following: int, verdict: Verdict, said: str
) -> None:
    """Its Kafka source goes on right after the last row: nothing came. An older state tells nothing since."""
    before = goes_on_without(orders)
    point = reading_on(stored(job(run), checkpoint, owes=()), 20, following)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[point]))

    assert answer.verdict is verdict
    assert said in answer.headline


def test_a_gap_is_a_gap_whatever_is_silent(orders: OrdersTable, asks: Asks) -> None:
    """What was seen to be missing is confirmed, and the silent partition is named beside it."""
    before = goes_on_without(orders, range(15, 20))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert (answer.verdict, gaps_of(answer).missing) == (Verdict.CONFIRMED, 5)
    assert answer.could_not_look[0].source == "source partition 1 (last 29) in the window"


def test_hidden_values_of_a_silent_partition_are_not_told(orders: OrdersTable, asks: Asks) -> None:
    """Neither its name nor its last position."""
    before = goes_on_without(orders)
    hidden = BY_PARTITION.model_copy(update={"redacted": ("source_position", "source_partition")})

    answer = asks("missing_positions", orders.ask(before, contract=hidden))

    assert "source partition ••• (last •••) has no row after" in answer.headline


@pytest.mark.parametrize("seed", range(3))
def test_a_partition_that_is_removed_wholly_is_never_ruled_out(orders: OrdersTable, asks: Asks, seed: int) -> None:
    """Of some partitions that write without a gap, one loses all that it had in the window."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    ends = dict.fromkeys(range(dice.randrange(2, 6)), 0)
    lost = dice.choice(list(ends))
    before: SnapshotId | None = None
    for commit in range(6):
        writes = [each for each in ends if each != lost or commit < 3]
        parts = []
        for each in writes:
            length = dice.randrange(1, 5)
            parts.append(rows(range(ends[each], ends[each] + length), partition=each))
            ends[each] += length
        made = orders.appends(pa.concat_tables(parts), of_flink("a", commit + 1))
        before = made if commit == 2 else before

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert f"source partition {lost} (last {ends[lost] - 1})" in answer.headline
