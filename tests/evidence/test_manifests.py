"""What is read of manifest lists and manifests: as little as tells the whole truth."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.errors import EvidenceFailed
from bot.domain.evidence import Verdict
from bot.domain.findings import DuplicateFilesFinding, DuplicatesFinding
from bot.domain.ids import SnapshotId
from bot.domain.ledger import LedgerRow
from spark_tasks import _live, _reading, _writers
from tests.evidence.conftest import Asks
from tests.evidence.test_ledger_ranges import ledger_of
from tests.tables import OrdersTable, with_fields

MERGING = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "3"}


@pytest.fixture
def merging(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table whose commits merge manifests."""
    table = OrdersTable(tmp_path, MERGING)
    yield table
    table.close()


def positions_of(rows: tuple[LedgerRow, ...]) -> list[tuple[int | None, int | None]]:
    """What the ledger read from each commit's own manifests."""
    return [(row.position_from, row.position_until) for row in rows]


def list_of(orders: OrdersTable, snapshot: SnapshotId) -> Path:
    """The file of its manifest list."""
    return Path(orders.state().by_id[snapshot].manifest_list.removeprefix("file://"))


def test_commits_whose_manifests_were_merged_away_are_told_by_their_own_lists(merging: OrdersTable, asks: Asks) -> None:
    """The newest list no longer names what a merge has taken in: each commit still has its files."""
    before = merging.commits("a", 1, range(3))
    for number in range(2, 9):
        merging.commits("a", number, range(10 * number, 10 * number + 5))

    answer = asks("ledger", merging.ask(before))

    assert positions_of(ledger_of(answer).rows) == [(10 * number, 10 * number + 4) for number in range(2, 9)]


def test_a_rolled_back_commit_is_told_by_its_own_list(orders: OrdersTable, asks: Asks) -> None:
    """The list of main's newest commit does not name what main has left."""
    before = orders.commits("a", 1, range(3))
    kept = orders.commits("a", 2, range(10, 15))
    orders.commits("a", 3, range(20, 25))
    orders.rolls_back_to(kept)
    orders.commits("b", 3, range(30, 35))

    answer = asks("ledger", orders.ask(before))

    assert positions_of(ledger_of(answer).rows) == [(10, 14), (20, 24), (30, 34)]


def test_older_lists_are_not_read_where_the_newest_tells_all(orders: OrdersTable, asks: Asks) -> None:
    """A window of many commits costs one list."""
    before = orders.commits("a", 1, range(3))
    older = [orders.commits("a", number, range(10 * number, 10 * number + 5)) for number in range(2, 6)]
    orders.commits("a", 6, range(60, 65))
    ask = orders.ask(before)
    for snapshot in older:
        list_of(orders, snapshot).unlink()

    answer = asks("ledger", ask)

    assert positions_of(ledger_of(answer).rows) == [(10 * number, 10 * number + 4) for number in range(2, 7)]


def test_a_summary_that_counts_nothing_is_not_believed(orders: OrdersTable, asks: Asks) -> None:
    """Without counters nobody knows whether the newest list names all of a commit: its own list is read."""
    before = orders.commits("a", 1, range(3))
    silent = orders.commits("a", 2, range(10, 15))
    orders.commits("a", 3, range(20, 25))
    ask = orders.ask(before)
    table = ask.observation.table
    told = tuple(s.model_copy(update={"summary": {}}) if s.snapshot_id == silent else s for s in table.snapshots)
    world = ask.observation.model_copy(update={"table": with_fields(table, snapshots=told)})
    lost = list_of(orders, silent)
    lost.unlink()

    with pytest.raises(EvidenceFailed, match=lost.name):
        asks("ledger", ask.model_copy(update={"observation": world}))


@pytest.mark.parametrize("few", [0, 64], ids=["many manifests", "few manifests"])
def test_many_manifests_are_read_as_few(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """How what entries inherit is looked up changes nothing."""
    monkeypatch.setattr(_reading, "_FEW", few)
    before = orders.commits("a", 1, range(3))
    orders.commits("a", 2, range(10, 15))
    orders.commits("a", 3, range(20, 25))

    rows = ledger_of(asks("ledger", orders.ask(before))).rows

    assert [(row.added_files, row.added_rows, row.spec_ids) for row in rows] == [(1, 5, (0,)), (1, 5, (0,))]
    assert positions_of(rows) == [(10, 14), (20, 24)]


@pytest.mark.parametrize(("enough", "verdict"), [(1, Verdict.RULED_OUT), (2, Verdict.CONFIRMED)])
def test_below_the_window_reading_ends_with_enough_entries(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, enough: int, verdict: Verdict
) -> None:
    """A table of large manifests costs no more than one of small ones; what is nearer is looked at first."""
    monkeypatch.setattr(_live, "ENTRIES_BELOW", enough)
    orders.commits_files("a", 1, {"far.parquet": range(10)})
    before = orders.commits("a", 2, range(10, 20))
    orders.names_again("a", 3, ["far.parquet"])

    answer = asks("duplicate_files", orders.ask(before))

    assert isinstance(answer.finding, DuplicateFilesFinding)
    assert verdict is answer.verdict


@pytest.mark.parametrize("copied", [range(2), range(40, 42)], ids=["the oldest", "the newest"])
def test_the_writer_of_an_older_copy_is_found_wherever_it_lies(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, copied: range
) -> None:
    """Manifests are looked through in batches, the newest first, until each file's commit is known."""
    monkeypatch.setattr(_writers, "FIRST_ENTRIES", 1)
    older = [orders.commits("a", number, range(10 * number, 10 * number + 5)) for number in range(5)]
    again = orders.commits("b", 1, copied)

    answer = asks("duplicate_rows", orders.ask(older[-1]))

    assert isinstance(answer.finding, DuplicatesFinding)
    assert [(pair.first, pair.second, pair.keys) for pair in answer.finding.pairs] == [
        (older[copied[0] // 10], again, 2)
    ]
