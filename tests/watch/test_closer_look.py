"""What only evidence can see, answered by a real Spark over a real table: told once, and not of a healthy neighbour."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.adapters.spark import SparkEvidenceRunner
from tests.tables import job
from tests.watch.on_spark import OrdersOnSpark, OverOrders, after_three_looks, over_orders_in

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
"""Each look asks every task; on a busy machine the first one, which warms Spark up, takes two minutes."""
NEXT = {"next.parquet": range(30, 40)}
"""What run A would have committed with checkpoint 4."""


@pytest.fixture
def over_orders(tmp_path: Path, runner: SparkEvidenceRunner) -> Iterator[OverOrders]:
    """See there."""
    with over_orders_in(tmp_path, runner) as over:
        yield over


def hands_over(scene: OrdersOnSpark, *, at_checkpoint: int) -> None:
    """Run B goes on from a point that lists no manifest, after A had written one for checkpoint 4."""
    scene.orders.leaves_manifest("a", 4, NEXT)
    savepoint = scene.flink.savepoint(job("a"))
    scene.flink.stop("orders-to-iceberg", job("a"))
    scene.flink.submit(job("b"), at_checkpoint=at_checkpoint, restored=savepoint)
    scene.flink.checkpoints(job("b"), 2)


def test_a_manifest_that_nothing_remembers_is_told(over_orders: OverOrders) -> None:
    """With its rows and why nothing will commit it; once, and with the buttons."""
    (told,) = after_three_looks(over_orders(lambda scene: hands_over(scene, at_checkpoint=4)))

    assert (told.code, told.subject) == ("leaked", job("a"))
    assert told.buttons == ("Open incident", "Mute table for 4 hours")
    assert "1 Flink manifest of run aaaaaa, of checkpoint 4, still on storage with 10 rows never committed" in told.text
    assert "no restore point lists it" in told.text


def test_a_checkpoint_that_the_sink_skipped_is_told_by_its_mode(over_orders: OverOrders) -> None:
    """The table has a higher one of that run: F3, and not a second time as a leak."""
    (told,) = after_three_looks(over_orders(lambda scene: scene.orders.leaves_manifest("a", 2, NEXT)))

    assert told.code == "F3"
    assert "passed over 1 completed checkpoints for good" in told.text


def test_a_failure_in_the_middle_of_a_checkpoint_is_not_told(over_orders: OverOrders) -> None:
    """The manifest of the checkpoint in progress stays behind for good; its rows are read again from below it."""

    def fails_over(scene: OrdersOnSpark) -> None:
        scene.orders.leaves_manifest("a", 4, NEXT)
        scene.flink.fails_over(job("a"), to=3)
        scene.flink.checkpoints(job("a"), 2)

    assert after_three_looks(over_orders(fails_over)) == []


def test_a_restart_from_below_the_checkpoint_in_progress_is_not_told(over_orders: OverOrders) -> None:
    """As an operator's upgrade from the last state does it."""
    assert after_three_looks(over_orders(lambda scene: hands_over(scene, at_checkpoint=3))) == []


def test_a_manifest_that_waits_or_was_left_over_is_not_told(over_orders: OverOrders) -> None:
    """The commit of the newest checkpoint is on its way; of an older one only the deletion failed."""

    def waits(scene: OrdersOnSpark) -> None:
        scene.orders.leaves_manifest("a", 4, NEXT)

    def left_over(scene: OrdersOnSpark) -> None:
        scene.orders.commits_files("a", 4, NEXT)
        scene.orders.leaves_manifest("a", 4, NEXT)

    assert after_three_looks(over_orders(waits)) == []
    assert after_three_looks(over_orders(left_over)) == []
