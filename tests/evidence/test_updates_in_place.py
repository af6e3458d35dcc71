"""An update that marks old rows as deleted and adds changed copies of them (merge on read) brings nothing of the source
again, nothing late, and does not keep a table fresh."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Observation, Verdict
from bot.observation.ids import SnapshotId
from bot.observation.table import Window
from tests.evidence.conftest import Asks
from tests.format_3 import NAME, OrdersOfFormat3
from tests.tables import CONTRACT, ORDERS, of_table, unseen

pytestmark = [pytest.mark.slow, pytest.mark.rotating]

CADENCE = TableContract(key=("order_id",), commit_every=timedelta(minutes=1))


@pytest.fixture(params=["2", "3"])
def orders(tmp_path: Path, writer: SparkSession, request: pytest.FixtureRequest) -> OrdersOfFormat3:
    """A table whose updates delete by position files (format 2) or by deletion vectors (format 3)."""
    on_read = {"format-version": request.param, "write.update.mode": "merge-on-read"}
    return OrdersOfFormat3(tmp_path, writer, **on_read)


def ask(orders: OrdersOfFormat3, since: SnapshotId, contract: TableContract = CONTRACT) -> Ask:
    """About what came since."""
    folder = orders.folder
    catalog = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")
    table = catalog.load_table(ORDERS)
    state = table_state(ORDERS, table.metadata, table.metadata_location, datetime.now(UTC))
    catalog.close()
    nobody = unseen("nobody")
    world = Observation(
        table=state, jobs=nobody, checkpoints=nobody, reads=nobody, flink_manifests=nobody, written=nobody
    )
    return Ask(observation=world, window=Window(since=since, until=state.head), contract=contract)


def updates(orders: OrdersOfFormat3) -> None:
    """Somebody corrects ten old rows."""
    orders.says(f"UPDATE {NAME} SET customer = 'x' WHERE source_position BETWEEN 20 AND 29")  # noqa: S608 - ours


@pytest.mark.parametrize("task", ["replayed_rows", "late_rows"])
def test_rows_that_were_updated_did_not_come_again(orders: OrdersOfFormat3, asks: Asks, task: str) -> None:
    """As of an update that copies whole files, it is left open whether it brought new rows beside."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 150))
    updates(orders)

    answer = asks(task, ask(orders, before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "It put 10 rows in the place of 10 rows" in answer.headline


def test_rows_that_flink_brings_again_beside_an_update_are_counted(orders: OrdersOfFormat3, asks: Asks) -> None:
    """Those of the update are not among them."""
    before = orders.commits("a", 1, range(100))
    updates(orders)
    orders.commits("b", 1, range(90, 120))

    answer = asks("replayed_rows", ask(orders, before))

    assert (answer.verdict, answer.finding.replayed, answer.finding.changed) == (Verdict.CONFIRMED, 10, 0)


def test_an_update_does_not_keep_a_table_fresh(orders: OrdersOfFormat3, asks: Asks) -> None:
    """Nobody knows from its counters alone whether it brought anything, so the stream may be still."""
    before = orders.commits("a", 1, range(100))
    updates(orders)
    fresh = ask(orders, before, CADENCE)
    table = fresh.observation.table
    old = table.by_id[before].model_copy(update={"committed_at": table.read_at - timedelta(hours=1)})
    fresh = of_table(fresh, snapshots=(old, *table.snapshots[1:]))

    assert asks("freshness", fresh).verdict is Verdict.INCONCLUSIVE
