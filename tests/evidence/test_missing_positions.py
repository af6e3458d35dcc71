"""Missing source positions are counted exactly: around the window, at its edges, and of each source partition."""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.ids import SnapshotId
from bot.domain.kafka import KafkaPartition
from bot.domain.listed import Mark, highest_of, marks_of
from bot.domain.looked import NotSeen, Seen
from bot.domain.table import Snapshot
from bot.history import skipped_checkpoints
from tests.adapters.test_iceberg_history import commit, histories, packed_from, state
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.evidence.test_recovery_extent import reading_on
from tests.tables import CONTRACT, OrdersTable, job, of_flink, rows
from tests.upserts import upserts

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})


def gaps_of(answer: Answer) -> GapsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, GapsFinding)
    return answer.finding


def test_a_window_that_goes_on_where_the_table_stood_misses_nothing(orders: OrdersTable, asks: Asks) -> None:
    """Positions that follow each other across the window's edge are whole; copies do not disturb it."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100, 200))
    orders.commits("a", 3, range(200, 300))
    orders.commits("b", 3, range(250, 330))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert gaps_of(answer) == GapsFinding(lowest=200, highest=329, positions=130, missing=0, gaps=())


def test_the_hole_of_a_rollback_lies_at_the_edge_and_is_named(orders: OrdersTable, asks: Asks) -> None:
    """A job that goes on after a rollback leaves a hole between the table below the window and its commits."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 160))
    orders.commits("a", 3, range(160, 200))
    orders.rolls_back_to(before)
    orders.commits("a", 4, range(203, 250))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).missing == 103
    assert gaps_of(answer).gaps == (PositionGap(first=100, last=202),)
    assert answer.headline.startswith("103 positions are missing: 100 to 202; 100 of them were in 2 commits that were")


def test_what_was_rolled_back_below_all_that_lives_is_missing(orders: OrdersTable, asks: Asks) -> None:
    """Main went back to a first commit without rows, and the run went on: nothing live lies below the hole."""
    first = orders.appends(rows([]))
    for checkpoint in (1, 2, 3):
        orders.commits("a", checkpoint, range((checkpoint - 1) * 10, checkpoint * 10))
    orders.rolls_back_to(first)
    orders.commits("a", 4, range(33, 40))

    answer = asks("missing_positions", orders.ask(None))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).gaps == (PositionGap(first=0, last=32),)
    assert answer.headline.startswith("33 positions are missing: 0 to 32; 30 of them were in 3 commits that were")


def test_a_source_partition_whose_first_rows_were_rolled_back_misses_them(orders: OrdersTable, asks: Asks) -> None:
    """Another partition lives below; its positions say nothing of this one."""
    kept = orders.commits("a", 1, range(20))
    orders.commits("a", 2, range(100, 110), partition=1)
    orders.rolls_back_to(kept)
    orders.commits("a", 3, range(110, 120), partition=1)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).gaps == (PositionGap(first=100, last=109, partition="1"),)


def test_a_rollback_that_was_replayed_leaves_no_hole(orders: OrdersTable, asks: Asks) -> None:
    """After a paired rewind the job writes the rolled-back positions again, and nothing is missing."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200))
    orders.rolls_back_to(before)
    orders.commits("b", 2, range(100, 230))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_positions_above_the_highest_live_one_are_told_but_are_no_gap(orders: OrdersTable, asks: Asks) -> None:
    """Right after a rollback the job has yet to come: what was rolled back is counted apart."""
    start = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200))
    orders.rolls_back_to(start)
    orders.commits("b", 2, range(100, 120))

    answer = asks("missing_positions", orders.ask(start))

    assert answer.verdict is Verdict.RULED_OUT
    assert "80 positions above it are not in the table yet: they were in 1 commit that" in answer.headline


def test_holes_below_the_window_are_not_its_fault(orders: OrdersTable, asks: Asks) -> None:
    """A gap that ends below the window's lowest position belongs to an earlier incident."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(120, 200))
    orders.commits("a", 3, range(200, 300))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert gaps_of(answer).lowest == 200


def test_each_source_partition_is_compared_by_itself(orders: OrdersTable, asks: Asks) -> None:
    """Equal positions of different partitions are different records."""
    before = orders.appends(rows(range(100), partition=0))
    orders.appends(rows(range(5000, 5010), partition=1))
    orders.appends(rows([*range(100, 110), *range(115, 120)], partition=0))
    orders.appends(rows([5013], partition=1))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert gaps_of(answer).gaps == (
        PositionGap(first=110, last=114, partition="0"),
        PositionGap(first=5010, last=5012, partition="1"),
    )
    assert gaps_of(answer).missing == 8


def test_rows_that_another_engine_deleted_are_missing(orders: OrdersTable, asks: Asks) -> None:
    """Where the window also deletes, what is live at its end counts."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200))
    orders.deletes("order_id >= 150 and order_id < 160")

    answer = asks("missing_positions", orders.ask(before))

    assert gaps_of(answer).gaps == (PositionGap(first=150, last=159),)


def test_rows_that_were_all_deleted_leave_it_open(orders: OrdersTable, asks: Asks) -> None:
    """The window added rows; that none lives says nothing of positions, with source partitions or without."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200))
    orders.deletes("order_id >= 100")
    parted = CONTRACT.model_copy(update={"position_partition": "source_partition"})

    answers = [asks("missing_positions", orders.ask(before, contract=each)) for each in (CONTRACT, parted)]

    assert [Verdict.INCONCLUSIVE] * 2 == [each.verdict for each in answers]
    assert answers[0].headline == "The window's commits added rows, and none of these lives any more."


def test_a_window_that_only_deleted_misses_nothing(orders: OrdersTable, asks: Asks) -> None:
    """No commit of it brought a row."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100, 200))
    orders.deletes("order_id >= 100")

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "The window's commits added no row, so no position can be missing from it."


def test_all_gaps_are_counted_and_twenty_are_shown(orders: OrdersTable, asks: Asks) -> None:
    """`missing` is exact although the sample is short, also where the window begins with the table."""
    orders.commits("a", 1, range(0, 100, 2))

    answer = asks("missing_positions", orders.ask(None))

    assert gaps_of(answer).missing == 49
    assert [gap.first for gap in gaps_of(answer).gaps] == list(range(1, 41, 2))
    assert len(answer.rows) == 20


def test_a_contract_without_position_is_inconclusive(orders: OrdersTable, judges: Asks) -> None:
    """Without a position column nothing can be said of loss, and the answer says which word is missing."""
    before = orders.commits("a", 1, range(10))

    answer = judges("missing_positions", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "contract.position"


def test_a_position_that_is_no_number_is_inconclusive(orders: OrdersTable, judges: Asks) -> None:
    """Text has no neighbours."""
    before = orders.commits("a", 1, range(10))

    answer = judges(
        "missing_positions", orders.ask(before, contract=CONTRACT.model_copy(update={"position": "customer"}))
    )

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "holds string" in answer.headline


def test_positions_that_are_all_null_are_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """A job that stopped filling the column must not look like a job that lost nothing."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, None], orders=[10, 11]))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "null in every row" in answer.headline


def test_rows_without_a_position_are_told_and_not_vouched_for(orders: OrdersTable, asks: Asks) -> None:
    """Of two rows in five nobody can say whether others like them are missing."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([10, 11, None, None, 12], orders=range(10, 15)))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "2 of the window's 5 rows have null there" in answer.headline


def test_rows_without_a_position_do_not_hide_a_gap(orders: OrdersTable, asks: Asks) -> None:
    """What is missing is confirmed, and they are named beside it."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([10, 13, None], orders=[10, 13, 14]))

    answer = asks("missing_positions", orders.ask(before))

    assert (Verdict.CONFIRMED, 2) == (answer.verdict, gaps_of(answer).missing)
    assert "1 of the window's 3 rows has null there" in answer.could_not_look[0].reason


def test_a_redacted_position_is_in_no_sentence(orders: OrdersTable, asks: Asks) -> None:
    """Not only the cells of the table are read by everybody in the channel."""
    before = orders.commits("a", 1, range(1000, 1100))
    orders.commits("a", 2, range(1150, 1200))
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("missing_positions", orders.ask(before, contract=hidden))

    assert answer.verdict is Verdict.CONFIRMED
    assert not any(number in answer.headline for number in ("1100", "1149"))


def test_counts_agree_with_brute_force_on_random_histories(orders: OrdersTable, asks: Asks) -> None:
    """Missing positions are exact on random commits, replays and rollbacks."""
    dice = random.Random(20261104)  # noqa: S311 - a repeatable history, no secret
    commits, next_position = [], 0
    for checkpoint in range(10):
        skipped = dice.choice([0, 0, 3])
        begin = max(0, next_position + skipped - dice.choice([0, 0, 6]))
        next_position = begin + dice.randrange(4, 20)
        commits.append(orders.commits("a", checkpoint, range(begin, next_position)))
        if checkpoint == 6:
            orders.rolls_back_to(commits[5])
    live = set(pc.unique(orders.live()["source_position"]).to_pylist())

    answer = asks("missing_positions", orders.ask(commits[4]))

    lowest = gaps_of(answer).lowest
    assert lowest is not None
    edge = max((place for place in live if place < lowest), default=lowest)
    assert gaps_of(answer).missing == len(set(range(edge, max(live))) - live)
    assert gaps_of(answer).positions == len([place for place in live if place >= lowest])


def test_a_hole_that_another_partition_fills_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Partition 0 lost 150 to 159, partition 1 has these positions of its own: only the contract tells them apart."""
    before = orders.appends(rows(range(150)))
    orders.appends(rows(range(130, 170), partition=1, orders=range(5_000, 5_040)))
    orders.appends(rows(range(160, 200)))

    blind = asks("missing_positions", orders.ask(before))
    told = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert blind.verdict is Verdict.INCONCLUSIVE
    assert blind.could_not_look[0].source == "contract.position_partition"
    assert "30 positions are carried by rows of different keys" in blind.headline
    assert gaps_of(told).gaps == (PositionGap(first=150, last=159, partition="0"),)


def test_a_hole_that_older_rows_of_another_partition_fill_is_not_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """The other partition may be far ahead, and quiet in the window."""
    orders.appends(rows(range(300), partition=1, orders=range(5_000, 5_300)))
    before = orders.appends(rows(range(100)))
    orders.appends(rows([*range(100, 150), *range(160, 200)]))

    blind = asks("missing_positions", orders.ask(before))
    told = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert blind.verdict is Verdict.INCONCLUSIVE
    assert gaps_of(told).gaps == (PositionGap(first=150, last=159, partition="0"),)


def test_without_a_key_positions_that_repeat_tell_nothing(orders: OrdersTable, asks: Asks) -> None:
    """A replay and a second partition look alike then."""
    before = orders.appends(rows(range(100)))
    orders.appends(rows(range(90, 120)))

    answer = asks("missing_positions", orders.ask(before, contract=TableContract(position="source_position")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "names no key" in answer.headline


@pytest.mark.parametrize("missing", [1, 20_000])
def test_a_quiet_partition_is_compared_from_where_it_stood(orders: OrdersTable, asks: Asks, missing: int) -> None:
    """Its last row may lie many commits below the window, and far below its lowest position there."""
    orders.appends(rows(range(10), partition=1, orders=range(900, 910)))
    for number in range(5):
        before = orders.appends(rows(range(number * 10, number * 10 + 10)))
    orders.appends(rows(range(50, 60)))
    orders.appends(rows([10 + missing], partition=1, orders=[910]))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).gaps == (PositionGap(first=10, last=9 + missing, partition="1"),)


@pytest.mark.parametrize(("begins", "verdict"), [(0, Verdict.RULED_OUT), (7, Verdict.INCONCLUSIVE)])
def test_a_partition_that_comes_from_nowhere_is_named(
    orders: OrdersTable, asks: Asks, begins: int, verdict: Verdict
) -> None:
    """Nothing of it lives below the window: unless it begins with 0, nobody knows what came before."""
    before = orders.appends(rows(range(50)))
    orders.appends(rows(range(50, 60)))
    orders.appends(rows(range(begins, 20), partition=1, orders=range(900, 920 - begins)))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is verdict
    if begins:
        assert answer.finding is None
        assert answer.could_not_look[0].source == "positions of source partition 1 below the window"
        assert "below 7, the lowest that the window brought" in answer.headline


def test_what_is_missing_elsewhere_is_said_beside_a_partition_from_nowhere(orders: OrdersTable, asks: Asks) -> None:
    """A hole that was seen is a hole, whatever could not be seen."""
    before = orders.appends(rows(range(50)))
    orders.appends(rows(range(55, 60)))
    orders.appends(rows(range(7, 20), partition=1, orders=range(900, 913)))

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert (answer.verdict, gaps_of(answer).missing) == (Verdict.CONFIRMED, 5)
    assert "source partition 1" in answer.could_not_look[0].source


def test_an_upsert_tables_hole_at_the_windows_edge_is_seen(orders: OrdersTable, asks: Asks) -> None:
    """All its commits overwrite; what stood below is live all the same."""
    orders.commits("a", 1, range(10))
    before = upserts(orders, "a", 2, range(10, 20), keys=range(10, 20))
    upserts(orders, "a", 3, range(25, 30), keys=range(25, 30))

    lost = asks("missing_positions", orders.ask(before))
    whole = asks("missing_positions", orders.ask(None))

    assert gaps_of(lost).gaps == (PositionGap(first=20, last=24),)
    assert gaps_of(whole).gaps == (PositionGap(first=20, last=24),)


@pytest.mark.parametrize("window", ["the whole table", "two commits", "a delete too"])
def test_what_a_compaction_within_the_window_lost_is_seen(orders: OrdersTable, asks: Asks, window: str) -> None:
    """The files that it replaced tell what the window had brought, however little of it is left."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))
    orders.commits("a", 4, range(30, 40))
    if window == "a delete too":
        orders.deletes("order_id = 39")
    orders.compacts(rows([*range(22), *range(28, 39), *(() if window == "a delete too" else (39,))]))
    orders.commits("a", 5, range(40, 50))

    answer = asks("missing_positions", orders.ask(None if window == "the whole table" else before))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).gaps[0] == PositionGap(first=22, last=27)
    assert gaps_of(answer).missing == (7 if window == "a delete too" else 6)
    assert gaps_of(answer).lowest == (0 if window == "the whole table" else 20)


def test_a_table_that_begins_with_a_later_position_says_from_where(orders: OrdersTable, asks: Asks) -> None:
    """No more is claimed than was compared."""
    orders.commits("a", 1, range(500, 520))

    answer = asks("missing_positions", orders.ask(None))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == (
        "No position is missing from 500, with which the table begins, up to the highest live one, 519."
    )


def test_a_column_that_is_no_partition_is_told(orders: OrdersTable, asks: Asks) -> None:
    """A contract that names the key there is wrong, and no reason to read the table thousands of times."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 2_100))

    answer = asks(
        "missing_positions", orders.ask(before, contract=CONTRACT.model_copy(update={"position_partition": "order_id"}))
    )

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "more than 2,000 values" in answer.headline


@pytest.mark.parametrize("seed", range(2))
def test_counts_agree_with_brute_force_over_partitions(orders: OrdersTable, asks: Asks, seed: int) -> None:
    """Exact for sixty partitions, most of them quiet, with skipped positions and replays."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    following = dict.fromkeys(range(60), 0)
    live: dict[int, set[int]] = {each: set() for each in following}
    commits, inside = [], []
    for _ in range(8):
        chosen = sorted(dice.sample(sorted(following), dice.randrange(1, 12)))
        brought = {each: _range(dice, following[each]) for each in chosen}
        parts = [rows(places, partition=each) for each, places in brought.items()]
        following |= {each: places.stop for each, places in brought.items()}
        commits.append(orders.appends(pa.concat_tables(parts)))
        inside.append(brought)
    for brought in inside:
        for each, places in brought.items():
            live[each] |= set(places)

    answer = asks("missing_positions", orders.ask(commits[3], contract=BY_PARTITION))

    lowest = {each: min(b[each].start for b in inside[4:] if each in b) for b in inside[4:] for each in b}
    edges = {each: max((p for p in live[each] if p < low), default=low) for each, low in lowest.items()}
    lost = sum(len(set(range(edges[each], max(live[each]))) - live[each]) for each in lowest)
    nowhere = [each for each, low in lowest.items() if low > 0 and not any(place < low for place in live[each])]
    silent = {each for b in inside[:4] for each in b} - lowest.keys()
    if lost:
        assert (answer.verdict, gaps_of(answer).missing) == (Verdict.CONFIRMED, lost)
    said = [missing.source for missing in answer.could_not_look]
    assert [bool(nowhere), bool(silent)] == [any(end in source for source in said) for end in (" below ", " in the ")]
    assert lost or nowhere or silent or answer.verdict is Verdict.RULED_OUT


def _range(dice: random.Random, following: int) -> range:
    begin = max(0, following + dice.choice([0, 0, 4, -3]))
    return range(begin, begin + dice.randrange(3, 12))


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


def test_what_kafka_has_lost_is_named_with_the_event_times_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """Positions are offsets; the broker's log of partition 0 begins within the gap, and that of 1 below it."""
    before = orders.appends(rows(range(10)), of_flink("a", 1))
    orders.appends(rows(range(20, 30)), of_flink("a", 2))
    asked = orders.ask(before, contract=BY_PARTITION)
    seen = [
        KafkaPartition(topic="orders", partition=number, earliest=earliest, latest=99)
        for number, earliest in enumerate((20, 0))
    ]
    world = asked.observation.model_copy(update={"kafka": Seen[KafkaPartition](source="Kafka", values=tuple(seen))})

    answer = asks("missing_positions", asked.model_copy(update={"observation": world}))

    told = gaps_of(answer).on_broker
    assert told is not None
    times = {"event_from": asked_at(9), "event_until": asked_at(20)}
    assert told.lost == (PositionGap(first=10, last=19, partition="0").model_copy(update=times),)
    assert "lost for good" in answer.headline
    assert next(each.value for each in answer.measures if each.name == "lost for good") == 10


def test_a_broker_that_could_not_be_asked_is_said(orders: OrdersTable, asks: Asks) -> None:
    """Else it would read as if none was lost."""
    asked = orders.ask(goes_on_without(orders, range(15, 20)), contract=BY_PARTITION)
    down = NotSeen(source="Kafka", reason="Kafka at k:9092 is not reachable.", remedy="Check it.")
    world = asked.observation.model_copy(update={"kafka": down})

    answer = asks("missing_positions", asked.model_copy(update={"observation": world}))

    assert "Whether Kafka still has them is not known: Kafka at k:9092 is not reachable." in answer.headline


def asked_at(position: int) -> datetime:
    """The event time of the row with this position."""
    return rows([position])["event_time"][0].as_py()


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
    for number in range(6):
        writes = [each for each in ends if each != lost or number < 3]
        parts = []
        for each in writes:
            length = dice.randrange(1, 5)
            parts.append(rows(range(ends[each], ends[each] + length), partition=each))
            ends[each] += length
        made = orders.appends(pa.concat_tables(parts), of_flink("a", number + 1))
        before = made if number == 2 else before

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert f"source partition {lost} (last {ends[lost] - 1})" in answer.headline


@given(history=histories(), many=some.integers(0, 4), near=some.integers(0, 3), packed=some.booleans())
@settings(max_examples=60, deadline=None)
def test_a_short_walk_finds_what_a_long_one_finds(
    history: tuple[list[dict[str, Any]], list[int]], many: int, near: int, packed: bool
) -> None:
    """The commit before, other runs, the highest id of the operator: whichever commits are asked about."""
    with packed_from(0), pytest.MonkeyPatch.context() as patched:
        chain = state(*history, packed=packed).chain
        ahead = {each.snapshot_id: each for each in chain[:many] if skipped_checkpoints._writer_of(each)}
        long = skipped_checkpoints._walked(chain, ahead)

        patched.setattr(skipped_checkpoints, "_NEAR", near)
        short = skipped_checkpoints._walked(chain, ahead)

        assert long == short


@given(history=histories())
@settings(max_examples=60, deadline=None)
def test_a_packed_history_tells_the_highest_ids_of_a_plain_one(history: tuple[list[dict[str, Any]], list[int]]) -> None:
    with packed_from(0):
        plain, packed = (highest_of(state(*history, packed=packed).chain) for packed in (False, True))

        assert plain == packed


def test_a_run_that_began_in_the_window_is_not_looked_for_in_the_whole_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty thousand commits of another run cost the ledger as little as a hundred."""
    told = [commit(n, n - 1 or None, of_flink("b" if n == 3_000 else "a", n)) for n in range(1, 3_001)]
    chain = state(told, [3_000], packed=True).chain
    looked_at = []

    def counted(snapshots: Sequence[Snapshot]) -> Iterator[Mark]:
        for mark in marks_of(snapshots):
            looked_at.append(mark)
            yield mark

    monkeypatch.setattr(skipped_checkpoints, "marks_of", counted)
    with packed_from(0):
        (below,) = skipped_checkpoints._walked(chain, {chain[0].snapshot_id: chain[0]})

    assert (None, True, 2_999) == (below.before, below.has_other_runs, below.carried)
    assert len(looked_at) < 150
