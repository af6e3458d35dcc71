"""A table that was dropped and made anew under its name: a window that begins in the former one knows nothing below."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from bot.domain.ids import SnapshotId
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import BY_PARTITION
from tests.tables import CONTRACT, OrdersTable


@pytest.fixture
def former(tmp_path: Path) -> Iterator[SnapshotId]:
    """The newest commit of the table that was dropped: its metadata is gone, and a window may still name it."""
    (tmp_path / "former").mkdir()
    table = OrdersTable(tmp_path / "former")
    table.commits("a", 1, range(100))
    yield table.commits("a", 2, range(100, 150))
    table.close()


@pytest.mark.parametrize("contract", [CONTRACT, BY_PARTITION], ids=["one source partition", "several"])
def test_what_the_former_table_held_is_not_called_complete(
    orders: OrdersTable, asks: Asks, former: SnapshotId, contract: TableContract
) -> None:
    """The new table begins at position 200: nobody knows whether the former one had held what comes before."""
    orders.commits("b", 1, range(200, 250))
    orders.commits("b", 2, range(250, 260))

    answer = asks("missing_positions", orders.ask(former, contract=contract))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "no live row carries a position below 200" in answer.headline


def test_a_table_that_was_filled_anew_from_the_beginning_misses_nothing(
    orders: OrdersTable, asks: Asks, former: SnapshotId
) -> None:
    """Nothing lies before position 0, whatever the former table held."""
    orders.commits("b", 1, range(200))

    assert asks("missing_positions", orders.ask(former)).verdict is Verdict.RULED_OUT


@pytest.mark.parametrize("task", ["replayed_rows", "late_rows", "corrected_rows"])
def test_the_former_table_is_not_called_expired(orders: OrdersTable, asks: Asks, former: SnapshotId, task: str) -> None:
    """Expiry takes the oldest snapshots; where the first one is there, what the window names was of another table."""
    orders.commits("b", 1, range(200, 250))

    answer = asks(task, orders.ask(former))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "was of a former table of this name, or of a line that main has left" in answer.headline
