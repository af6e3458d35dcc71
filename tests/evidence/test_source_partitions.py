"""Each partition of the source counts by itself: one does not fill the holes of another, and each is compared from
where it stood, however long ago it was written last."""

import random

import pyarrow as pa
import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from bot.domain.findings import PositionGap
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.tables import CONTRACT, OrdersTable, rows
from tests.upserts import upserts


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
