"""A table that is renamed during a window, and one that is compacted while rows land, are told as any other."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.iceberg.reading import table_state
from bot.domain.evidence import Ask, Verdict
from bot.domain.ids import TableName
from bot.domain.table import Window
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of
from tests.merges import MergedTable
from tests.tables import ORDERS, OrdersTable, of_flink, rows

pytestmark = pytest.mark.slow

ROWS = ("duplicate_rows", "corrected_rows", "replayed_rows", "missing_positions", "duplicate_commits", "missing_files")


@pytest.mark.parametrize("when", ["pinned before", "asked after"])
def test_a_renaming_of_the_table_loses_and_doubles_nothing(orders: OrdersTable, asks: Asks, when: str) -> None:
    """Its files and its metadata stay where they are; evidence that was pinned before is read still."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    ask = orders.ask(before)
    table = orders.catalog.rename_table(ORDERS, "sales.renamed")
    table.append(rows(range(20, 30)), snapshot_properties=of_flink("a", 3))
    if when == "asked after":
        state = table_state(TableName("sales.renamed"), table.metadata, table.metadata_location, datetime.now(UTC))
        world = ask.observation.model_copy(update={"table": state})
        ask = Ask(observation=world, window=Window(since=before, until=state.head), contract=ask.contract)

    answers = {task: asks(task, ask).verdict for task in ROWS}

    assert set(answers.values()) == {Verdict.RULED_OUT}, answers


def test_a_renaming_by_spark_loses_and_doubles_nothing(
    orders: OrdersTable, session: SparkSession, asks: Asks, tmp_path: Path
) -> None:
    """`ALTER TABLE ... RENAME TO` by another engine than the one that made the table, which then goes on writing: what
    was pinned before is told as it was, and what is asked after holds the newer rows too."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    pinned = orders.ask(before)
    named = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    for key, value in {**named, ".warehouse": f"file://{tmp_path}/lake"}.items():
        session.conf.set(f"spark.sql.catalog.lake{key}", value)
    session.sql("ALTER TABLE lake.sales.orders RENAME TO sales.renamed")
    session.sql("INSERT INTO lake.sales.renamed SELECT 20, 0, 20, timestamp'2026-11-03 00:00:20', 'customer-20'")
    table = orders.catalog.load_table("sales.renamed")
    state = table_state(TableName("sales.renamed"), table.metadata, table.metadata_location, datetime.now(UTC))
    world = pinned.observation.model_copy(update={"table": state})
    later = Ask(observation=world, window=Window(since=before, until=state.head), contract=pinned.contract)

    answers = {task: [asks(task, ask).verdict for ask in (pinned, later)] for task in (*ROWS, "schema_drift")}
    ledgers = [asks("ledger", ask) for ask in (pinned, later)]

    assert {Verdict.RULED_OUT} == {verdict for each in answers.values() for verdict in each}, answers
    assert [len(each.rows) for each in ledgers] == [1, 2]


@pytest.mark.parametrize("again", [False, True], ids=["calm", "replayed"])
@pytest.mark.parametrize("version", [2, 3])
def test_a_compaction_of_the_files_from_before_an_append_hides_nothing_and_makes_nothing_up(
    session: SparkSession, asks: Asks, tmp_path: Path, version: int, again: bool
) -> None:
    """It takes what lay there before rows landed, and is committed after them; in format 3 rows keep their ids."""
    table = MergedTable(session, tmp_path, mode="merge-on-read", version=version)
    before = table.commits("a", 1, 0, 10)
    table.commits("a", 2, 10, 20)
    table.commits("a", 3, 20, 30)
    table.commits("b", 3, 15 if again else 30, 40)
    table.compacts("source_position < 20")
    table.commits("b", 4, 40, 50)
    ask = table.ask(before)

    copies, commits, missing = (
        asks(each, ask) for each in ("duplicate_rows", "duplicate_commits", "missing_positions")
    )

    assert missing.verdict is Verdict.RULED_OUT
    assert commits.verdict is (Verdict.CONFIRMED if again else Verdict.RULED_OUT)
    assert duplicates_of(copies).keys == (15 if again else 0)
