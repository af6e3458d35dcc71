"""Ranges of commits tell what is missing and what came again, as long as they are whole; and none of it needs Spark."""

import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import PositionGap, ReplayedRowsFinding
from spark_tasks import missing_positions, replayed_rows
from spark_tasks._coverage import Edge, Part, Partition, is_apart, spans_of
from spark_tasks._positions import Edges, Positions, by_ranges
from spark_tasks._window import reach_of
from tests.tables import OrdersTable


def part(low: int, high: int, *, of: Partition = "0", rows: int | None = None, positions: int | None = None) -> Part:
    """Of a commit that brought each position once, unless told otherwise."""
    whole = high - low + 1
    return Part(of, low, high, whole if rows is None else rows, whole if positions is None else positions, 0)


def edges(*each: Edge) -> Edges:
    """Of a window that does not begin the table."""
    return Edges(each, rows=1, without=0, begins_with_table=False)


def gaps(found: Positions | None) -> list[tuple[Partition, int, int]]:
    """(partition, first, last) of each."""
    return [(gap.partition, gap.first, gap.last) for gap in found.gaps.first]


@pytest.mark.parametrize(
    ("below", "main", "lost", "expected", "inside", "above"),
    [
        pytest.param(9, [part(10, 19), part(20, 29)], [], [], 0, 0, id="one after the other"),
        pytest.param(5, [part(10, 19)], [], [("0", 6, 9)], 0, 0, id="a hole at the edge"),
        pytest.param(9, [part(20, 29)], [part(10, 19)], [("0", 10, 19)], 10, 0, id="rolled back and not read again"),
        pytest.param(9, [part(10, 29)], [part(10, 19)], [], 0, 0, id="rolled back and read again"),
        pytest.param(9, [part(10, 14)], [part(10, 19), part(12, 21)], [], 0, 7, id="lost twice, and to come"),
        pytest.param(None, [part(15, 19)], [part(10, 12)], [("0", 10, 14)], 3, 0, id="lost below all that lives"),
        pytest.param(9, [], [part(10, 12)], [], 0, 3, id="nothing is left of a partition"),
    ],
)
def test_gaps_lie_between_the_ranges(
    below: int | None,
    main: list[Part],
    lost: list[Part],
    expected: list[tuple[Partition, int, int]],
    inside: int,
    above: int,
) -> None:
    """From the position below the window on; what was rolled back lies in a gap, or above the highest live one."""
    lowest = min(each.low or 0 for each in (*main, *lost))

    found = by_ranges(edges(Edge("0", lowest, below)), main, lost, 20)

    assert gaps(found) == expected
    assert (found.inside, found.above) == (inside, above)
    assert found.live == sum(each.rows for each in main)


@pytest.mark.parametrize(
    "main",
    [
        pytest.param([part(10, 19), part(19, 29)], id="two overlap"),
        pytest.param([part(10, 19, rows=9, positions=9)], id="one lacks a position"),
        pytest.param([part(10, 19, rows=10, positions=9)], id="one lacks a position and has another twice"),
    ],
)
def test_only_rows_tell_where_ranges_are_not_whole(main: list[Part]) -> None:
    """As many rows as places are no proof that each is there once."""
    assert by_ranges(edges(Edge("0", 10, 9)), main, [], 20) is None
    assert spans_of(main) is None


def test_partitions_are_compared_each_by_itself() -> None:
    """Both count from 0."""
    both = [part(0, 9, of="0"), part(0, 9, of="1")]

    assert is_apart(both)
    assert not is_apart([*both, part(9, 12, of="1")])
    assert spans_of(both) == {"0": [(0, 9)], "1": [(0, 9)]}


def test_a_hole_of_one_partition_is_judged_without_spark(orders: OrdersTable) -> None:
    """The headline names it, and the finding has it."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(12, 20))
    ask = orders.ask(before)
    reach = reach_of(ask)
    assert not isinstance(reach, missing_positions.NotSeen)
    found = by_ranges(edges(Edge(None, 12, 9)), [part(12, 19, of=None)], [], 20)

    answer = missing_positions.judge(ask, missing_positions.Facts(reach, found, gaps=found.gaps.first))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.finding.gaps == (PositionGap(first=10, last=11),)
    assert answer.headline.startswith("2 positions are missing: 10 to 11.")


@pytest.mark.parametrize(
    ("facts", "verdict"),
    [
        (replayed_rows.Facts(10, 0), Verdict.RULED_OUT),
        (replayed_rows.Facts(10, 2), Verdict.INCONCLUSIVE),
        (replayed_rows.Facts(0, 2), Verdict.INCONCLUSIVE),
        (replayed_rows.Facts(10, 0, within=1, own=(replayed_rows.Pair(7, 7, 1, 0),)), Verdict.CONFIRMED),
        (replayed_rows.Facts(10, 0, 0, 3, 0, 5, 7, (replayed_rows.Pair(7, 8, 3, 0),)), Verdict.CONFIRMED),
    ],
)
def test_what_came_again_is_judged_without_spark(
    orders: OrdersTable, facts: replayed_rows.Facts, verdict: Verdict
) -> None:
    """Rows without a position rule nothing out."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    ask = orders.ask(before)
    reach = reach_of(ask)
    assert not isinstance(reach, replayed_rows.NotSeen)

    answer = replayed_rows.judge(ask, reach, facts)

    assert answer.verdict is verdict
    assert facts.checked == 0 or isinstance(answer.finding, ReplayedRowsFinding)
