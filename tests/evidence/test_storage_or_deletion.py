"""F9 from what the real tasks answer: a storage that gives no data file at all is not taken for a deletion."""

import pytest

from bot.diagnosis import cleanup_deleted_files as f9
from bot.domain.diagnosis import CannotTell, Case, Examined, Matches
from bot.domain.evidence import Ask
from bot.domain.findings import MissingFilesFinding, UnreadableFilesFinding
from bot.domain.ids import SnapshotId
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable


def examined(asks: Asks, ask: Ask, *tasks: str) -> Examined:
    """The mode's answer after these tasks have answered."""
    found = {task: asks(task, ask).finding for task in tasks}
    unreadable, missing = found.get("unreadable_files"), found.get("missing_files")
    assert unreadable is None or isinstance(unreadable, UnreadableFilesFinding)
    assert missing is None or isinstance(missing, MissingFilesFinding)
    case = Case(
        observation=ask.observation,
        window=ask.window,
        contract=ask.contract,
        job_name=None,
        unreadable=unreadable,
        missing_files=missing,
    )
    return f9.examine(case)


@pytest.fixture
def before(orders: OrdersTable) -> SnapshotId:
    """An old file, and two of the window above the commit that is returned."""
    before = orders.commits_files("a", 1, {"old.parquet": range(10)})
    orders.commits_files("a", 2, {"one.parquet": range(10, 20)})
    orders.commits_files("a", 3, {"two.parquet": range(20, 30)})
    return before


def loses(orders: OrdersTable, *names: str) -> None:
    """These files can no longer be found."""
    for name in names:
        (orders.data_folder / name).unlink()


@pytest.mark.parametrize("tasks", [("missing_files",), ("unreadable_files",), ("unreadable_files", "missing_files")])
def test_where_no_data_file_is_given_the_storage_is_suspected(
    orders: OrdersTable, asks: Asks, before: SnapshotId, tasks: tuple[str, ...]
) -> None:
    """The metadata is there, as where data lies in a bucket of its own: one key or one mount has it all fail."""
    loses(orders, "old.parquet", "one.parquet", "two.parquet")

    found = examined(asks, orders.ask(before), *tasks)

    assert isinstance(found, CannotTell)
    assert found.missing[0].startswith("the storage itself")
    assert ("missing_files" in found.asks) is ("missing_files" not in tasks)
    assert "orphan_files" in found.asks


def test_a_window_that_lost_all_its_files_is_judged_by_the_older_ones(
    orders: OrdersTable, asks: Asks, before: SnapshotId
) -> None:
    """A clean-up that is too young takes just these: while it is open, all of the table is asked for; then it is told
    apart."""
    loses(orders, "one.parquet", "two.parquet")
    ask = orders.ask(before)

    first, then = examined(asks, ask, "unreadable_files"), examined(asks, ask, "unreadable_files", "missing_files")

    assert isinstance(first, CannotTell)
    assert first.asks[0] == "missing_files"
    assert isinstance(then, Matches)
    assert then.last_good == before
