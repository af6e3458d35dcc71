"""The catalog is configured once: what PyIceberg is told is what Spark is told."""

import pytest

from bot.adapters.spark_repairs import driver_packages, spark_catalog
from bot.domain.errors import BadConfiguration

pytestmark = pytest.mark.smoke

_ROOT = "spark.sql.catalog.lake"


@pytest.mark.parametrize(
    ("properties", "told"),
    [
        (
            {"type": "sql", "uri": "sqlite:////srv/catalog.db", "warehouse": "file:///srv/lake"},
            {"catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog", "uri": "jdbc:sqlite:/srv/catalog.db"},
        ),
        (
            {"type": "sql", "uri": "postgresql+psycopg://bot:p%40ss@db:5433/lake", "warehouse": "s3://lake"},
            {"uri": "jdbc:postgresql://db:5433/lake", "jdbc.user": "bot", "jdbc.password": "p@ss"},
        ),
        (
            {"uri": "https://catalog:8181", "credential": "a:b", "s3.endpoint": "http://minio:9000", "s3.region": "x"},
            {"type": "rest", "credential": "a:b", "client.region": "x", "s3.endpoint": "http://minio:9000"},
        ),
        ({"type": "glue", "warehouse": "s3://lake"}, {"type": "glue", "warehouse": "s3://lake"}),
    ],
)
def test_properties_of_pyiceberg_become_settings_of_spark(properties: dict[str, str], told: dict[str, str]) -> None:
    """Names that differ are translated, secrets are unescaped, and the catalog is never cached."""
    conf = spark_catalog("lake", properties, {}).conf

    assert {key: conf.get(f"{_ROOT}.{key}") for key in told} == told
    assert conf[_ROOT] == "org.apache.iceberg.spark.SparkCatalog"
    assert conf[f"{_ROOT}.cache-enabled"] == "false"


def test_what_is_said_for_spark_wins() -> None:
    """A storage of its own kind needs its own properties."""
    conf = spark_catalog("lake", {"type": "rest", "uri": "http://c"}, {"io-impl": "com.example.Io"}).conf

    assert conf[f"{_ROOT}.io-impl"] == "com.example.Io"


def test_a_catalog_that_spark_cannot_be_told_of_is_refused_with_the_way_out() -> None:
    """At the start, not at three in the morning."""
    with pytest.raises(BadConfiguration, match=r"name it as `spark\.catalog`"):
        spark_catalog("lake", {"type": "dynamodb"}, {})


@pytest.mark.parametrize(
    ("uri", "driver"),
    [("sqlite:////a.db", "org.xerial:sqlite-jdbc"), ("postgresql+psycopg://db/lake", "org.postgresql:postgresql")],
)
def test_the_local_spark_is_given_the_driver_of_a_sql_catalog(uri: str, driver: str) -> None:
    """Spark brings none."""
    assert [each.rpartition(":")[0] for each in driver_packages({"uri": uri})] == [driver]
    assert driver_packages({"uri": "http://catalog:8181"}) == ()
