"""A source partition whose newest rows came with commits that have expired is silent as well: its rows still live."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from bot.domain.evidence import Verdict
from bot.domain.ids import SnapshotId, short
from spark_tasks import _unlisted
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.evidence.test_ledger_manifests import MERGING
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.evidence.test_recovery_extent import reading_on
from tests.tables import OrdersTable, job, of_flink, rows

pytestmark = pytest.mark.slow


def writes(orders: OrdersTable, checkpoint: int, *partitions: int) -> SnapshotId:
    """One checkpoint that brings the next five rows of each of these partitions, as if each wrote with every one."""
    places = range(5 * (checkpoint - 1), 5 * checkpoint)
    parts = [rows(places, partition=each, orders=(1000 * each + place for place in places)) for each in partitions]
    return orders.appends(pa.concat_tables(parts), of_flink("a", checkpoint))


def goes_silent(orders: OrdersTable, until: int) -> list[SnapshotId]:
    """Partition 1 stops after checkpoint 2, which has expired; partition 0 goes on. What is listed, oldest first."""
    gone = [writes(orders, 1, 0, 1), writes(orders, 2, 0, 1)]
    listed = [writes(orders, checkpoint, 0) for checkpoint in range(3, until + 1)]
    orders.expires(*gone)
    return listed


def test_from_the_first_listed_commit_a_silent_partition_is_named(orders: OrdersTable, asks: Asks) -> None:
    """The usual window of a table with a short retention."""
    first = goes_silent(orders, 4)[0]

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert (answer.verdict, answer.finding) == (Verdict.INCONCLUSIVE, None)
    assert f"source partition 1 (last 9) has no row from {short(first)}" in answer.headline
    assert "the oldest commit that is listed" in answer.headline


def test_above_a_few_listed_commits_it_is_named_as_well(orders: OrdersTable, asks: Asks) -> None:
    """Fewer than are looked at: what has expired below them makes up for it."""
    since = goes_silent(orders, 6)[1]

    answer = asks("missing_positions", orders.ask(since, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert f"source partition 1 (last 9) has no row after {short(since)}" in answer.headline


def test_where_every_partition_goes_on_nothing_is_open(orders: OrdersTable, asks: Asks) -> None:
    """A table that is well stays decidable, also where one does not write with each commit."""
    gone = [writes(orders, 1, 0, 1), writes(orders, 2, 0, 1)]
    writes(orders, 3, 0, 1)
    writes(orders, 4, 0)
    orders.expires(*gone)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert (answer.verdict, answer.could_not_look) == (Verdict.RULED_OUT, ())


def test_no_older_file_is_read_whose_bounds_name_no_other_partition(session: SparkSession, orders: OrdersTable) -> None:
    """The cost follows the window, and what is silent, not what has expired."""
    goes_silent(orders, 4)
    ask = orders.ask(None, contract=BY_PARTITION)
    oldest = ask.observation.table.chain[-1]

    both, one = (_unlisted.places_below(session, ask, oldest, 20, known) for known in ({"0", "1"}, {"0"}))

    assert isinstance(both, DataFrame)
    assert isinstance(one, DataFrame)
    assert (both.count(), one.count()) == (0, 20)


@pytest.mark.parametrize(("following", "verdict"), [(10, Verdict.RULED_OUT), (14, Verdict.INCONCLUSIVE)])
def test_the_jobs_own_state_tells_whether_it_is_idle(
    orders: OrdersTable, asks: Asks, following: int, verdict: Verdict
) -> None:
    """As above listed commits."""
    goes_silent(orders, 4)
    point = reading_on(stored(job("a"), 4, owes=()), 20, following)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION, checkpoints=[point]))

    assert answer.verdict is verdict


def test_a_gap_is_confirmed_beside_it(orders: OrdersTable, asks: Asks) -> None:
    """What was seen to be missing is missing, whatever is silent."""
    goes_silent(orders, 4)
    writes(orders, 6, 0)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert (answer.verdict, gaps_of(answer).missing) == (Verdict.CONFIRMED, 5)
    assert answer.could_not_look[0].source == "source partition 1 (last 9) in the window"


def test_rows_that_the_oldest_listed_commit_compacted_are_below_it(orders: OrdersTable, asks: Asks) -> None:
    """Its files are its own, and their rows came before."""
    gone = [writes(orders, 1, 0, 1), writes(orders, 2, 0)]
    orders.compacts(orders.live())
    writes(orders, 3, 0)
    orders.expires(*gone)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "source partition 1 (last 4)" in answer.headline


@pytest.mark.parametrize("merges", [False, True], ids=["a manifest each", "merged manifests"])
def test_one_that_had_stopped_long_before_is_not_named(
    tmp_path: Path, asks: Asks, monkeypatch: pytest.MonkeyPatch, merges: bool
) -> None:
    """It is silent in all commits below the window that are looked at, as where these are listed: partition 2 wrote
    last in the fifth commit below the oldest, partition 1 in the third."""
    monkeypatch.setattr("spark_tasks._silent.BELOW", 3)
    table = OrdersTable(tmp_path, MERGING if merges else {})
    told = {1: (0, 1, 2), 2: (0, 1), 3: (0, 1)}
    below = [writes(table, checkpoint, *told.get(checkpoint, (0,))) for checkpoint in range(1, 6)]
    writes(table, 6, 0)
    writes(table, 7, 0)
    table.expires(*below)

    answer = asks("missing_positions", table.ask(None, contract=BY_PARTITION))
    table.close()

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "source partition 1 (last 14) in the window"


@pytest.mark.parametrize("bound", ["_MOST_FILES", "_MOST_MANIFESTS"])
def test_too_much_to_be_looked_at_leaves_it_open(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    """Could not look is no answer that nothing is there."""
    monkeypatch.setattr(_unlisted, bound, 1)
    first = goes_silent(orders, 4)[0]

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == f"what lay below snapshot {first} of sales.orders"
    assert "begins 20 commits later" in answer.could_not_look[0].remedy


def test_a_column_that_had_another_name_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """The expired commits' files hold it under the old one."""
    goes_silent(orders, 4)
    orders.renames_column("source_position", "place")
    named = BY_PARTITION.model_copy(update={"position": "place"})

    answer = asks("missing_positions", orders.ask(None, contract=named))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "column place of sales.orders"


def test_where_the_table_begins_nothing_lies_below(orders: OrdersTable, asks: Asks) -> None:
    """A partition that stops inside the window is not silent in all of it."""
    writes(orders, 1, 0, 1)
    writes(orders, 2, 0)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_table_of_format_v1_is_looked_at_as_well(tmp_path: Path, asks: Asks) -> None:
    """Its manifest lists do not tell which manifest came last."""
    orders = OrdersTable(tmp_path, {"format-version": "1"})
    goes_silent(orders, 4)

    answer = asks("missing_positions", orders.ask(None, contract=BY_PARTITION))
    orders.close()

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "source partition 1 (last 9)" in answer.headline
