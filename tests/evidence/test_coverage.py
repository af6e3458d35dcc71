"""Ranges of commits tell what is missing and what came again; and every task, asked of two tables."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.sql import SparkSession

import spark_tasks
from bot.evidence import find_tasks
from bot.observation.evidence import Ask, Verdict
from bot.observation.findings import PositionGap, ReplayedRowsFinding
from bot.observation.table import Window
from spark_tasks import missing_positions, replayed_rows
from spark_tasks._support import manifests as _manifests
from spark_tasks._support.coverage import Edge, Part, Partition, spans_of
from spark_tasks._support.manifest_entries import Asked as AskedOf
from spark_tasks._support.manifest_entries import entries_by_commit
from spark_tasks._support.positions import Edges, Positions, by_ranges
from spark_tasks._support.window import reach_of
from tests.actions.worlds import closed, made
from tests.evidence import manifests
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.tables import CONTRACT, ORDERS, OrdersTable
from tests.upserts import upserts


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

    assert spans_of([*both, part(9, 12, of="1")], is_dense=False) is None
    assert spans_of(both) == {"0": [(0, 9)], "1": [(0, 9)]}


def test_a_hole_of_one_partition_is_judged_without_spark(orders: OrdersTable) -> None:
    """The headline names it, and the finding has it."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(12, 20))
    ask = orders.ask(before)
    reach = reach_of(ask)
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

    answer = replayed_rows.judge(ask, reach, facts)

    assert answer.verdict is verdict
    assert facts.checked == 0 or isinstance(answer.finding, ReplayedRowsFinding)


CONFIRMED = {
    "checkpoint_health", "checkpoint_pairing", "contract_agreement", "duplicate_commits", "duplicate_rows",
    "extra_copies", "late_rows", "ledger", "recovery_extent", "replayed_rows",
}  # fmt: skip
"""Where run b repeats a checkpoint of run a; nothing is on the table that is well."""
INCONCLUSIVE = {"freshness", "reads_above_waterline", "replayable_rows"}
"""Nothing is promised, trusted or declared."""


@dataclass(frozen=True)
class Asked:
    """One table."""

    ask: Ask
    inconclusive: set[str]
    confirmed: set[str]

    def expected(self, task: str) -> Verdict:
        if task in self.inconclusive:
            return Verdict.INCONCLUSIVE
        return Verdict.CONFIRMED if task in self.confirmed else Verdict.RULED_OUT


@pytest.fixture(scope="module", params=["well", pytest.param("rewound", marks=pytest.mark.smoke)])
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    """All that can be seen of the table, and a window that begins after its first commit."""
    scene, _plan = made(tmp_path_factory.mktemp(request.param), request.param)
    seen = scene.observer.observe(ORDERS)
    assert seen.table.head is not None
    window = Window(since=scene.snapshot("a", 1), until=seen.table.head)
    ask = Ask(observation=seen, window=window, contract=CONTRACT)
    if request.param == "well":  # its checkpoints lie on a local disk, of which nobody knows whether it lasts
        yield Asked(ask, INCONCLUSIVE | {"checkpoint_health"}, set())
    else:
        yield Asked(ask, INCONCLUSIVE, CONFIRMED)
    closed(scene)


AT_ONCE = {
    "checkpoint_pairing",
    "duplicate_commits",
    "duplicate_rows",
    "ledger",
    "missing_positions",
    "recovery_extent",
}
"""Asked in the inner loop; the others with all tests."""


@pytest.mark.parametrize(
    "task",
    [pytest.param(task, marks=[] if task in AT_ONCE else pytest.mark.full) for task in sorted(find_tasks(spark_tasks))],
)
def test_it_tells_the_two_tables_apart(asked: Asked, asks: Asks, task: str) -> None:
    """The answer is checked as the collector checks it."""
    assert asks(task, asked.ask).verdict is asked.expected(task)


def test_pyiceberg_reads_what_spark_reads(session: SparkSession, orders: OrdersTable) -> None:
    """Of appends, replaced files, deletes, nulls and columns without bounds; also after a merge."""
    orders.sets({"write.metadata.metrics.column.customer": "none"})
    write(orders, "a1[0:10] a2[10:20,-]p3 +[20:30]p-7[5:9]p2 drop[12:15]")
    upserts(orders, "a", 3, [30, 31], keys=[7, 8], deletes=[1])
    orders.sets({"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"})
    write(orders, "a4[40:50]")
    table = orders.state()
    asked = AskedOf(table.columns[2], table.columns[1], table.columns[4])

    read = entries_by_commit(session, _manifests.own_manifests(session, table.snapshots), asked)
    told = manifests.entries_by_commit(session, table.snapshots, asked)

    by_spark, by_pyiceberg = (
        sorted(each for some in of for each in some if each.status in {1, 2}) for of in (read, told)
    )
    assert len(by_spark) == 8
    assert by_spark == by_pyiceberg
