"""A missing file that two commits name was brought by the first of them: what lies above it cannot be read."""

import pytest

from bot.domain.findings import MissingFilesFinding
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable


@pytest.mark.parametrize("others", [0, 3])
def test_the_oldest_commit_that_names_it_is_told(orders: OrdersTable, asks: Asks, others: int) -> None:
    """Whichever manifest is read first, and however often the question is asked."""
    first = orders.commits_files("a", 1, {"one.parquet": range(10)})
    for checkpoint in range(2, 2 + others):
        orders.commits("a", checkpoint, range(10 * checkpoint, 10 * checkpoint + 10))
    head = orders.names_again("a", 9, ["one.parquet"])
    (orders.data_folder / "one.parquet").unlink()

    told = [asks("missing_files", orders.ask(head)).finding for _ in range(2)]

    for found in told:
        assert isinstance(found, MissingFilesFinding)
        assert (found.count, found.rows, found.commits) == (1, 10, (first,))
        assert [file.snapshot_id for file in found.files] == [first]
