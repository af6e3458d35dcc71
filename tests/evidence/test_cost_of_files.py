"""Cost follows the window: manifests far below it are destroyed, and the answers still come.

A task that read one of them would fail: Spark refuses a path that is not there.
"""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.evidence import Ask, Verdict
from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import run_of
from tests.tables import OrdersTable

BELOW = 23
"""More commits than any task looks below the window."""


@pytest.fixture
def window(orders: OrdersTable) -> tuple[SnapshotId, list[SnapshotId]]:
    """`since`, and the commits far below it, of a table with two commits and a leaked manifest in the window."""
    older = [orders.commits("a", number, range(10 * number, 10 * number + 10)) for number in range(1, BELOW + 1)]
    orders.commits("a", BELOW + 1, range(10_000, 10_010))
    orders.commits("a", BELOW + 2, range(10_010, 10_020))
    orders.leaves_manifest("a", BELOW + 3, {"next.parquet": range(10_020, 10_030)})
    return older[-1], older[:2]


def with_old_commits(ask: Ask) -> Ask:
    """The same, the commits below the window an hour or two older: a test makes them within seconds.

    A new state and no copy of the old one, which would bring along what that had worked out from its snapshots.
    """
    table = ask.observation.table
    hour, since = timedelta(hours=1), ask.window.since
    then = datetime.now(UTC) - 2 * hour
    inside = {commit.snapshot_id for commit in ask.window.of(table)}
    times = {c.snapshot_id: c.committed_at if c.snapshot_id in inside else then for c in table.snapshots}
    aged = tuple(
        commit.model_copy(update={"committed_at": times[commit.snapshot_id] + hour * (commit.snapshot_id == since)})
        for commit in table.snapshots
    )
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    changed = TableState(**{**fields, "snapshots": aged})
    return ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": changed})})


@pytest.mark.parametrize(
    "task", ["duplicate_files", "duplicate_commits", "leaked_manifests", "orphan_files", "table_health"]
)
def test_manifests_far_below_the_window_are_not_read(
    orders: OrdersTable, asks: Asks, window: tuple[SnapshotId, list[SnapshotId]], task: str
) -> None:
    """A table a hundred times older costs the same."""
    since, far_below = window
    ask = with_old_commits(orders.ask(since, jobs=[run_of("a")], flink_manifests=orders.flink_manifests()))
    for snapshot in far_below:
        for manifest in orders.manifests_of(snapshot):
            manifest.unlink()

    answer = asks(task, ask)

    assert answer.verdict is Verdict.RULED_OUT
