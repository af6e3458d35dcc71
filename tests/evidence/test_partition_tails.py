"""A source partition that stops inside the window: its last rows are missing, not committed yet, or not judged."""

from collections.abc import Collection

import pyarrow as pa
import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import PositionGap
from bot.domain.ids import SnapshotId
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.evidence.test_source_goes_on import reading_on
from tests.tables import OrdersTable, job, of_flink, rows


def goes_on(orders: OrdersTable, commits: int, writes: Collection[int]) -> SnapshotId:
    """Partition 0 writes ten positions with each checkpoint from 1 on, partition 1 five with these; where the window
    begins, which is after the first."""
    before: SnapshotId | None = None
    other = 0
    for checkpoint in range(1, commits + 1):
        parts = [rows(range(10 * checkpoint - 10, 10 * checkpoint))]
        if checkpoint in writes:
            parts.append(rows(range(other, other + 5), partition=1, orders=range(9_000 + other, 9_005 + other)))
            other += 5
        made = orders.appends(pa.concat_tables(parts), of_flink("a", checkpoint))
        before = before if before is not None else made
    assert before is not None
    return before


def test_what_the_committed_checkpoint_had_read_and_no_row_carries_is_missing(orders: OrdersTable, asks: Asks) -> None:
    """Partition 1 stops at 14, and the state of the newest commit's own checkpoint goes on at 20."""
    before = goes_on(orders, 4, (1, 2, 3))
    point = reading_on(stored(job("a"), 4, owes=()), 40, 20)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[point]))

    assert answer.verdict is Verdict.CONFIRMED
    assert (gaps_of(answer).missing, gaps_of(answer).gaps) == (5, (PositionGap(first=15, last=19, partition="1"),))
    assert answer.headline == (
        "5 positions are missing: 15 to 19 of partition 1; 5 of them the job had read by checkpoint 4, which the "
        "newest commit carries."
    )


def test_what_a_later_checkpoint_has_read_is_not_committed_yet(orders: OrdersTable, asks: Asks) -> None:
    """The next commit may bring it: that is no loss, and it is said. The oldest such point tells most."""
    before = goes_on(orders, 4, (1, 2, 3))
    later = [reading_on(stored(job("a"), number, owes=()), 30 + 2 * number, 20) for number in (9, 5)]

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=later))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline.endswith(
        "By the state of checkpoint 5 the job has read 5 positions more, not committed yet: the newest commit is of "
        "checkpoint 4."
    )


def test_a_state_that_agrees_with_no_partition_accuses_none(orders: OrdersTable, asks: Asks) -> None:
    """Its offsets may be of another topic, or not what the column holds: it is said, and nothing is confirmed."""
    before = goes_on(orders, 4, (1, 2, 3))
    point = reading_on(stored(job("a"), 4, owes=()), 47, 20)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[point]))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert "the job has read 7 offsets beyond the last row of partition 0" in answer.headline


@pytest.mark.parametrize(
    ("commits", "writes", "verdict"),
    [
        (6, (1, 2, 3, 4), Verdict.RULED_OUT),
        (8, (1, 2, 3, 4), Verdict.RULED_OUT),
        (9, (1, 2, 3, 4), Verdict.INCONCLUSIVE),
        (10, (1, 4, 5), Verdict.INCONCLUSIVE),
        (10, (1, 5), Verdict.RULED_OUT),
    ],
    ids=["two commits", "four commits", "five commits", "longer than twice before", "it writes rarely"],
)
def test_a_silence_counts_where_it_is_several_commits_and_longer_than_any_before(
    orders: OrdersTable, asks: Asks, commits: int, writes: Collection[int], verdict: Verdict
) -> None:
    """No offset is known: a partition that is quiet for a moment is no doubt, and one that stopped is not ruled out."""
    before = goes_on(orders, commits, writes)

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    last = 5 * len(writes) - 1
    assert answer.verdict is verdict
    if verdict is Verdict.INCONCLUSIVE:
        assert f"source partition 1 (last {last}) has no row in the newest 5 commits with rows" in answer.headline
        assert "idle, or its last rows are lost" in answer.headline
        assert "Ask the source" in answer.could_not_look[0].remedy


def test_a_silence_that_the_jobs_state_shows_to_be_idle_is_none(orders: OrdersTable, asks: Asks) -> None:
    """Nothing came after its last row."""
    before = goes_on(orders, 9, (1, 2, 3, 4))
    idle, read_on = (reading_on(stored(job("a"), 10, owes=()), 95, following) for following in (20, 22))

    quiet = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[idle]))
    waits = asks("missing_positions", orders.ask(before, contract=BY_PARTITION, checkpoints=[read_on]))

    assert quiet.verdict is Verdict.RULED_OUT
    assert waits.verdict is Verdict.INCONCLUSIVE
    assert "the job has read 2 offsets beyond the last row of partition 1" in waits.headline


def test_hidden_values_of_a_partition_that_stopped_are_not_told(orders: OrdersTable, asks: Asks) -> None:
    """Neither its name nor its last position."""
    before = goes_on(orders, 9, (1, 2, 3, 4))
    hidden = BY_PARTITION.model_copy(update={"redacted": ("source_position", "source_partition")})

    answer = asks("missing_positions", orders.ask(before, contract=hidden))

    assert "source partition ••• (last •••) has no row in the newest 5 commits" in answer.headline
