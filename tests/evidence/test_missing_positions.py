"""Missing source positions are counted exactly, around the window and at its edges."""

import random

import pyarrow.compute as pc

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import GapsFinding, PositionGap
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, rows

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
    assert answer.headline.startswith("103 positions are missing: 100 to 202; 100 of them stood in 2 commits that were")


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
    assert answer.headline.startswith("33 positions are missing: 0 to 32; 30 of them stood in 3 commits that were")


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
    assert "80 positions of 1 commit that was rolled back" in answer.headline


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


def test_a_contract_without_position_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Without a position column nothing can be said of loss, and the answer says which word is missing."""
    before = orders.commits("a", 1, range(10))

    answer = asks("missing_positions", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "contract.position"


def test_a_position_that_is_no_number_is_inconclusive(orders: OrdersTable, asks: Asks) -> None:
    """Text has no neighbours."""
    before = orders.commits("a", 1, range(10))

    answer = asks(
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
