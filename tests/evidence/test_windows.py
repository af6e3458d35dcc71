"""The window holds the commits under review; former and empty tables, and how far below one looks."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.ids import SnapshotId
from bot.domain.table import TableState, Window
from spark_tasks import _live, duplicate_commits
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger import run_of
from tests.evidence.test_missing_positions import BY_PARTITION
from tests.tables import CONTRACT, OrdersTable, with_fields


def test_commits_that_were_rolled_back_to_the_beginning_are_of_the_window(orders: OrdersTable) -> None:
    """They descend from `since`, so they are under review, beside what main has now."""
    since = orders.commits("a", 1, range(10))
    lost = orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(since)
    kept = orders.commits("a", 3, range(20, 30))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [lost, kept]


def test_a_rollback_to_below_the_window_is_not_of_it(orders: OrdersTable) -> None:
    """An earlier incident's rolled-back commits stay listed for days; they are not this window's."""
    start = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(start)
    since = orders.commits("b", 2, range(10, 20))
    kept = orders.commits("b", 3, range(20, 30))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [kept]


def test_a_branch_of_a_branch_is_of_the_window(orders: OrdersTable) -> None:
    """Two rollbacks after each other leave two branches, both under review."""
    since = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    second = orders.commits("a", 3, range(20, 30))
    orders.rolls_back_to(first)
    third = orders.commits("a", 4, range(30, 40))
    orders.rolls_back_to(since)
    kept = orders.commits("b", 2, range(10, 50))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [first, second, third, kept]


def test_from_a_snapshot_that_was_itself_rolled_back_the_window_begins_where_main_left_it(orders: OrdersTable) -> None:
    """The last commit that both share bounds it; what main lost after that is in it."""
    orders.commits("a", 1, range(10))
    since = orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(orders.state().snapshots[0].snapshot_id)
    kept = orders.commits("b", 2, range(10, 30))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [since, kept]


TASKS = ("replayed_rows", "corrected_rows", "late_rows", "backfill_boundary", "schema_drift")


@pytest.mark.parametrize("task", TASKS)
def test_from_the_first_listed_commit_nothing_is_ruled_out_against_what_has_expired(
    orders: OrdersTable, asks: Asks, task: str
) -> None:
    """What the expired commit brought could have come again, been changed, or been newer; PyIceberg takes its id out
    of the commit above."""
    gone = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 200))
    orders.commits("a", 3, range(200, 300))
    orders.expires(gone)

    answer = asks(task, orders.ask(None))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == f"what lay below snapshot {first} of sales.orders"


def test_a_commit_that_names_an_expired_parent_is_not_the_first(orders: OrdersTable, asks: Asks) -> None:
    """Iceberg's own expiry leaves the parent's id, also above a commit without rows."""
    orders.commits("a", 1, range(100))
    table = orders.state()
    parented = with_fields(table, snapshots=[s.model_copy(update={"parent_id": 12345}) for s in table.snapshots])
    ask = orders.ask(None)
    above = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": parented})})

    answer = asks("replayed_rows", above)

    assert answer.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("task", ["replayed_rows", "corrected_rows"])
def test_below_the_very_first_commit_lies_nothing(orders: OrdersTable, asks: Asks, task: str) -> None:
    """It has no parent and counts no older row, so the window begins with the table."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks(task, orders.ask(None))

    assert answer.verdict is Verdict.RULED_OUT


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


def measured(answer: Answer, name: str) -> float:
    """One number of the answer."""
    return next(measure.value for measure in answer.measures if measure.name == name)


@pytest.mark.parametrize("below", [1, 20], ids=["not all", "all"])
def test_files_are_said_to_be_live_once_in_what_was_compared(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, below: int
) -> None:
    """A copy in an older manifest is not seen: the sentence must not cover it."""
    monkeypatch.setattr(_live, "MANIFESTS_BELOW", below)
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))

    answer = asks("duplicate_files", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert measured(answer, "manifests compared") == (2 if below == 1 else 3)
    assert answer.headline == "Each of 1 data file that the window added is live once" + (
        " in the 2 manifests compared; older ones were not." if below == 1 else "."
    )


@pytest.mark.parametrize(
    ("below", "said"),
    [
        (1, ", nor the one before the window; of older ones only those with the same checkpoint were compared."),
        (20, ", nor any of the 2 before the window."),
    ],
    ids=["not all", "all"],
)
def test_commits_are_said_to_repeat_none_of_those_compared(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, below: int, said: str
) -> None:
    """Further down only a checkpoint that comes again leads to a comparison."""
    monkeypatch.setattr(duplicate_commits, "COMMITS_BELOW", below)
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(20, 30))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert measured(answer, "commits compared") == 1 + min(below, 2)
    assert answer.headline == f"None of 1 commit repeats another one{said}"


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
