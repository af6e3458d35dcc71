"""A file that Spark's listing hides is there for Iceberg's readers: no evidence calls it missing."""

import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import MissingFilesFinding, UnreadableFilesFinding
from spark_tasks import _head_files
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable

HIDDEN = ("_hidden.parquet", "day=1/.dot.parquet", "copied.parquet._COPYING_")
IN_HIDDEN_FOLDERS = ("_folder/a.parquet", ".folder/b.parquet")


def test_hidden_names_of_the_window_are_not_asked_for(orders: OrdersTable, asks: Asks) -> None:
    """All that can be looked for is there, and the rest is left open by name, not accused."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {name: range(20, 25) for name in (*HIDDEN, *IN_HIDDEN_FOLDERS, "plain.parquet")})

    answer = asks("unreadable_files", orders.ask(before))

    found = answer.finding
    assert isinstance(found, UnreadableFilesFinding)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (found.count, found.not_asked) == (0, 3)
    assert answer.could_not_look[0].source.startswith("3 files of sales.orders with a name that Spark passes over")


def test_hidden_names_of_the_whole_table_are_not_asked_for(orders: OrdersTable, asks: Asks) -> None:
    """Files in folders of such names are asked for one by one, and found."""
    head = orders.commits_files("a", 1, {name: range(20, 25) for name in (*HIDDEN, *IN_HIDDEN_FOLDERS)})

    answer = asks("missing_files", orders.ask(head))

    found = answer.finding
    assert isinstance(found, MissingFilesFinding)
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (found.count, found.not_asked) == (0, 3)


def test_what_is_not_asked_for_in_a_hidden_folder_is_not_called_missing(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The listing is whole but for such folders: that tells nothing of what lies in them."""
    monkeypatch.setattr(_head_files, "MAX_ASKED", 1)
    head = orders.commits_files("a", 1, {"0.parquet": range(3), "_folder/1.parquet": range(3), "2.parquet": range(3)})
    for name in ("0.parquet", "2.parquet"):
        (orders.data_folder / name).unlink()

    found = asks("missing_files", orders.ask(head)).finding

    assert isinstance(found, MissingFilesFinding)
    assert (found.count, found.not_asked) == (2, 1)
