"""Commits whose manifests do not tell what part of the source they brought are read, or left open; never acquitted."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from bot.domain.findings import DuplicateCommitsFinding
from spark_tasks import _few_entries, _unstated
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_commits import BY_PARTITION, BY_TIME, repeats
from tests.merges import MergedTable
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

OF_POSITION = "write.metadata.metrics.column.source_position"
NO_TIME = CONTRACT.model_copy(update={"event_time": None})


@pytest.fixture(params=[2_500, pytest.param(-1, marks=pytest.mark.slow)], ids=["few entries", "many entries"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries are counted here, or by Spark."""
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", request.param)


@pytest.fixture
def too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that nobody reads."""
    monkeypatch.setattr(_unstated, "MOST_BYTES", 1)


@pytest.mark.parametrize("mode", ["none", "counts"])
@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.parametrize(
    "contract",
    [
        pytest.param(CONTRACT, id="plain"),
        pytest.param(BY_PARTITION, id="partitions", marks=pytest.mark.slow),
        pytest.param(NO_TIME, id="no time", marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("both_ways")
def test_a_range_that_came_again_is_read_where_no_bounds_tell(
    orders: OrdersTable, asks: Asks, mode: str, run: str, contract: TableContract
) -> None:
    """The same run, or another one, under new keys, and too little of it for event times to tell."""
    orders.sets({OF_POSITION: mode})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), orders=range(100, 110))
    first = orders.commits("a", 3, range(20, 60), orders=range(200, 240))
    again = orders.commits(run, 4, range(20, 25), orders=range(300, 305))

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.CONFIRMED
    assert repeats(answer) == [(first, again, "same-source-range")]
    assert not answer.could_not_look


@pytest.mark.parametrize("metrics", ["none", "full"])
@pytest.mark.parametrize("run", ["a", "b"])
def test_files_of_iceberg_s_own_writer_are_told_as_well(
    session: SparkSession, asks: Asks, tmp_path: Path, metrics: str, run: str
) -> None:
    """With bounds or without: what goes on is acquitted, and what came again is told."""
    table = MergedTable(session, tmp_path, mode="merge-on-read")
    table.sets("write.metadata.metrics.default", metrics)
    before = table.commits("a", 1, 0, 10)
    first = table.commits("a", 2, 10, 60)
    table.commits(run, 3, 60, 70)

    goes_on = asks("duplicate_commits", table.ask(before))
    again = table.commits(run, 4, 10, 15)
    answer = asks("duplicate_commits", table.ask(before))

    assert (goes_on.verdict, goes_on.could_not_look) == (Verdict.RULED_OUT, ())
    assert repeats(answer) == [(first, again, "same-source-range")]


@pytest.mark.parametrize("contract", [CONTRACT, BY_PARTITION], ids=["plain", "partitions"])
@pytest.mark.usefixtures("both_ways")
def test_commits_that_go_on_are_acquitted_by_their_rows(
    orders: OrdersTable, asks: Asks, contract: TableContract
) -> None:
    """No bounds of any column, two runs, and nothing came again."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), partition=3)
    orders.commits("b", 3, range(20, 30), partition=3)

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert (answer.verdict, answer.could_not_look) == (Verdict.RULED_OUT, ())


@pytest.mark.parametrize("setting", [OF_POSITION, "write.metadata.metrics.column.source_partition"])
def test_what_was_read_is_held_against_what_bounds_tell(orders: OrdersTable, asks: Asks, setting: str) -> None:
    """The metrics were switched off between two commits: a partition is spelled alike on both sides."""
    before = orders.commits("a", 1, range(10), partition=-7)
    first = orders.commits("a", 2, range(10, 20), partition=-7)
    orders.sets({setting: "none"})
    again = orders.commits("b", 3, range(15, 30), partition=-7, orders=range(100, 115))
    orders.commits("b", 4, range(10, 15), partition=2, orders=range(200, 205))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, "same-source-range")]


@pytest.mark.parametrize("run", ["a", "b"])
@pytest.mark.usefixtures("too_many")
def test_more_rows_than_are_read_rule_nothing_out(orders: OrdersTable, asks: Asks, run: str) -> None:
    """It says which commits were not compared, why, and what to do; also where event times do not overlap."""
    orders.sets({OF_POSITION: "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 60), orders=range(100, 150))
    head = orders.commits(run, 3, range(55, 70), orders=range(200, 215))

    answer = asks("duplicate_commits", orders.ask(before))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert "3 commits (" in answer.headline
    assert str(head)[-6:] in answer.headline
    assert "no bounds of source_position" in answer.headline
    assert "write.metadata.metrics.column.source_position" in answer.could_not_look[0].remedy
    assert "replayed_rows" in answer.could_not_look[0].remedy


@pytest.mark.usefixtures("too_many")
def test_what_is_proven_otherwise_is_confirmed_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """A checkpoint came twice, and what else did is not known."""
    orders.sets({OF_POSITION: "none"})
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    again = orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-checkpoint")]
    assert len(answer.could_not_look) == 1
    assert "no bounds of source_position" in answer.headline


@pytest.mark.parametrize("contract", [BY_TIME, TableContract(key=("order_id",))], ids=["time", "none"])
@pytest.mark.usefixtures("too_many")
def test_without_a_position_in_the_contract_nothing_is_read(
    orders: OrdersTable, asks: Asks, contract: TableContract
) -> None:
    """A table without positions is not in doubt for that alone."""
    orders.sets({"write.metadata.metrics.default": "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT


@pytest.mark.usefixtures("too_many")
def test_a_commit_alone_cannot_repeat_another(orders: OrdersTable, asks: Asks) -> None:
    """Nor does an empty one beside it, or another engine's, which is not compared by its range."""
    orders.sets({OF_POSITION: "none"})
    orders.appends(rows(range(5)))
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, [])

    answer = asks("duplicate_commits", orders.ask(None))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_file_that_is_gone_is_no_acquittal(orders: OrdersTable, asks: Asks) -> None:
    """Nobody can read it any more."""
    orders.sets({OF_POSITION: "none"})
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"two.parquet": range(10, 20)})
    orders.commits("a", 3, range(20, 30))
    (orders.data_folder / "two.parquet").unlink()

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "gone from storage" in answer.headline


@pytest.mark.parametrize("mode", ["none", "counts", "full"])
@pytest.mark.usefixtures("both_ways")
def test_rows_without_a_position_are_told_and_not_vouched_for(orders: OrdersTable, asks: Asks, mode: str) -> None:
    """They came twice, and nothing of theirs tells it: in files of their own, or among others."""
    orders.sets({OF_POSITION: mode})
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("a", 2))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("a", 3))
    orders.appends(rows([10, None, 11], orders=[10, 1000, 11]), of_flink("b", 4))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "11 of the window's 13 rows have null in source_position" in answer.headline
    assert answer.finding == DuplicateCommitsFinding(commits_checked=3, repeated=())


@pytest.mark.usefixtures("both_ways")
def test_rows_without_a_position_hide_no_repetition(orders: OrdersTable, asks: Asks) -> None:
    """A file of such rows takes nothing away from what the commit's others tell."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    again = orders.commits_files("b", 3, {"placed.parquet": range(12, 18), "bare.parquet": [None]})  # type: ignore[list-item]

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-source-range")]
    assert "1 of the window's 17 rows has null in source_position: whether it repeats another" in answer.headline
    assert len(answer.could_not_look) == 1


def test_older_rows_without_a_position_are_no_doubt(orders: OrdersTable, asks: Asks) -> None:
    """As for missing positions, those of the window count."""
    orders.commits("a", 1, range(10))
    before = orders.appends(rows([None, 10], orders=[1000, 10]), of_flink("a", 2))
    orders.commits("a", 3, range(11, 20))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


@pytest.mark.parametrize("name", ["customer", "no_such_column"])
def test_a_position_that_cannot_be_compared_is_no_acquittal(orders: OrdersTable, asks: Asks, name: str) -> None:
    """A text, or a column that the table lacks."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("duplicate_commits", orders.ask(before, contract=CONTRACT.model_copy(update={"position": name})))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert name in answer.headline


def test_a_hidden_position_is_compared_and_not_shown(orders: OrdersTable, asks: Asks) -> None:
    """No answer names a position, so there is nothing to hide."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    again = orders.commits("a", 3, range(10, 15), orders=range(100, 105))
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("duplicate_commits", orders.ask(before, contract=hidden))

    assert repeats(answer) == [(first, again, "same-source-range")]
