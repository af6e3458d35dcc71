"""Spark on a table of a REST catalog or a Hive metastore: evidence reads the very metadata file that the catalog named,
and what Spark writes goes through the same catalog."""

import pytest

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_repairs import spark_catalog
from bot.evidence import find_tasks
from bot.observation.contract import TableContract
from bot.observation.errors import CommitRefused
from bot.observation.evidence import Ask, Observation, Verdict
from bot.observation.looked import NotSeen
from bot.observation.table import Window
from tests.catalogs.orders import Orders
from tests.catalogs.test_every_catalog import rewind

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("kind", ["rest", "hive"])]
UNASKED = NotSeen(source="a test", reason="Not asked.", remedy="")


def test_evidence_is_pinned_to_what_the_catalog_named(orders: Orders, runner: SparkEvidenceRunner) -> None:
    """A row that is there twice is found, and a commit after the look does not change the answer."""
    orders.append(6)
    table = orders.ours.load(orders.name)
    ask = Ask(
        observation=Observation(table=table, jobs=UNASKED, checkpoints=UNASKED, reads=UNASKED, flink_manifests=UNASKED),
        window=Window(since=orders.heads[0], until=orders.heads[3]),
        contract=TableContract(key=("order_id",), position="position"),
    )
    orders.append(6, 6)

    answer, _ = runner.run(
        find_tasks(spark_tasks)["duplicate_rows"].task, ask, tag="test-rest", on_progress=lambda _progress: None
    )

    extra = next(each.value for each in answer.measures if "extra" in each.name)
    assert Verdict.CONFIRMED == answer.verdict
    assert 1 == extra


def test_spark_writes_by_what_pyiceberg_was_told(orders: Orders, runner: SparkEvidenceRunner) -> None:
    """One configuration for both; ours sees the commit, and a change that was approved before it is refused."""
    approved = orders.ours.load(orders.name)
    lake = spark_catalog(f"lake_{orders.kind}", orders.properties, {})
    spark = runner.connection.session()
    for key, value in lake.conf.items():
        spark.conf.set(key, value)

    row = spark.createDataFrame([("o-7", 7)], "order_id string not null, position bigint")
    row.writeTo(f"{lake.name}.{orders.name}").append()

    now = orders.ours.load(orders.name)
    assert now.by_id[now.head or 0].parent_id == approved.head
    with pytest.raises(CommitRefused):
        orders.ours.commit(orders.name, rewind(approved, orders.heads[0]))
