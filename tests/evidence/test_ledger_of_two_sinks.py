"""Two sinks of one run write one table: each commits every checkpoint, and the chain is whole."""

from collections.abc import Mapping

import pytest

from bot.domain.evidence import Verdict
from bot.domain.ids import OperatorId, SnapshotId
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable

OTHER = OperatorId("0f" * 16)


def commits(orders: OrdersTable, *turns: tuple[str, int]) -> list[SnapshotId]:
    """One commit a turn: the sink (`one` or `other`) of run `a`, and the checkpoint."""
    of_other: Mapping[str, str] = {"flink.operator-id": OTHER}
    return [
        orders.commits("a", checkpoint, range(10 * at, 10 * at + 10), summary=of_other if sink == "other" else None)
        for at, (sink, checkpoint) in enumerate(turns)
    ]


@pytest.mark.parametrize(
    "turns",
    [
        [("one", 1), ("other", 1), ("one", 2), ("other", 2), ("one", 3), ("other", 3)],
        [("one", 1), ("other", 1), ("one", 2), ("one", 3), ("other", 2), ("other", 3)],
        [("one", 1), ("one", 2), ("one", 3), ("other", 3), ("other", 4), ("one", 4)],
    ],
    ids=["in turn", "one is a little later", "one was idle"],
)
def test_checkpoints_of_two_sinks_do_not_fall(orders: OrdersTable, asks: Asks, turns: list[tuple[str, int]]) -> None:
    """Both carry the id of the one checkpoint; which commits first is chance."""
    made = commits(orders, *turns)

    answer = asks("ledger", orders.ask(made[1]))

    assert answer.verdict is Verdict.RULED_OUT
    assert "one unbroken chain of run aaaaaa" in answer.headline


@pytest.mark.parametrize(
    ("turns", "fall"),
    [
        ([("one", 5), ("other", 5), ("one", 6), ("other", 5)], "5 → 5"),
        ([("one", 5), ("one", 6), ("one", 9), ("other", 4)], "9 → 4"),
    ],
    ids=["a sink commits again", "another sink begins far below"],
)
def test_a_sink_that_goes_back_breaks_the_chain(
    orders: OrdersTable, asks: Asks, turns: list[tuple[str, int]], fall: str
) -> None:
    """What it committed itself, or long ago, comes again."""
    made = commits(orders, *turns)

    answer = asks("ledger", orders.ask(made[1]))

    assert answer.verdict is Verdict.CONFIRMED
    assert f"checkpoint ids repeat or fall once (first at {fall}," in answer.headline
