"""What people copy from a page really reads that snapshot: run in PyIceberg and in Spark."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.incident.trust import Pin, pins_for
from bot.observation.ids import TableName
from bot.pinned_jars import spark_jars
from tests.orders_table import table_state
from tests.tables import ORDERS
from tests.web.scene import Scene

pytestmark = pytest.mark.slow


@pytest.fixture
def pins(scene: Scene) -> dict[str, Pin]:
    """Of the table under review, whose tag stands on run A's last commit."""
    return {pin.engine: pin for pin in scene.opens().trust.pins}


@pytest.fixture
def spark(scene: Scene) -> Iterator[SparkSession]:
    """A server of its own, whose catalog is the table's."""
    lake = "spark.sql.catalog.lake"
    conf = {
        lake: "org.apache.iceberg.spark.SparkCatalog",
        f"{lake}.catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        f"{lake}.uri": f"jdbc:sqlite:{scene.folder}/catalog.db",
        f"{lake}.jdbc.schema-version": "V1",
        f"{lake}.warehouse": f"file://{scene.folder}/lake",
        "spark.sql.defaultCatalog": "lake",
        "spark.sql.codegen.wholeStage": "false",
    }
    server = SparkServer(EmbeddedSpark(memory="512m", jars=tuple(spark_jars()), conf=conf))
    session = SparkConnection(server.url).session()
    yield session
    session.stop()
    server.stop()


def test_pyiceberg_reads_the_trusted_snapshot(scene: Scene, pins: dict[str, Pin]) -> None:
    """Thirty rows of run A, not the fifty that the head has; by the tag as well."""
    pin, catalog = pins["PyIceberg"], scene.orders.catalog

    exact = eval(pin.exact, {"catalog": catalog})  # noqa: S307 - our own text, as people paste it
    following = eval(pin.following or "", {"catalog": catalog})  # noqa: S307

    assert [30, 30, 50] == [exact.num_rows, following.num_rows, scene.orders.live().num_rows]


def test_spark_reads_the_trusted_snapshot(spark: SparkSession, pins: dict[str, Pin]) -> None:
    """The same in Spark SQL."""
    pin = pins["Spark"]

    counted = [spark.sql(text).count() for text in (pin.exact, pin.following or "", "SELECT * FROM sales.orders")]

    assert [30, 30, 50] == counted


@pytest.mark.long
def test_no_expiry_takes_the_tag_away_whatever_the_table_says_of_tags(
    scene: Scene, spark: SparkSession, pins: dict[str, Pin]
) -> None:
    """Spark's expiry removes a tag of somebody else's after the table's own age, and leaves the waterline."""
    scene.orders.catalog.load_table(ORDERS).manage_snapshots().create_tag(scene.commits[0], "theirs").commit()
    scene.marks({"history.expire.max-ref-age-ms": "1"})

    spark.sql("CALL lake.system.expire_snapshots(table => 'sales.orders', retain_last => 1)").collect()

    assert ["main", "waterline"] == sorted(ref.name for ref in scene.orders.state().refs)
    assert spark.sql(pins["Spark"].following or "").count() == 30


def test_what_follows_the_tag_is_given_only_where_it_stands_there(scene: Scene) -> None:
    """Before the table is marked, a pin by the tag would read nothing, or something else."""
    pins = scene.opens(mark=False).trust.pins

    assert {None} == {pin.following for pin in pins}
    assert all(str(scene.good) in pin.exact for pin in pins)


def test_names_that_are_no_plain_words_are_quoted_as_each_engine_does() -> None:
    """And nothing in them ends the quotes."""
    state = table_state().model_copy(
        update={"name": TableName('sales-eu.or`d"ers'), "metadata_location": "s3://lake/o'brien/1.metadata.json"}
    )
    assert state.head is not None

    found = {pin.engine: pin.exact for pin in pins_for(state, state.head)}

    assert 'FROM `sales-eu`.`or``d"ers` VERSION' in found["Spark"]
    assert 'FROM "sales-eu"."or`d""ers" FOR VERSION' in found["Trino"]
    assert 'load_table("sales-eu.or`d\\"ers")' in found["PyIceberg"]
    assert "iceberg_scan('s3://lake/o''brien/1.metadata.json'" in found["DuckDB"]
