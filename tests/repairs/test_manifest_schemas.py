"""Files of a Flink manifest are added under any schema that the table has or had, and under no other."""

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import write_manifest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.iceberg.file_sources import FilesOfTable, why_unfit
from bot.adapters.spark_repairs import drivers_of, spark_catalog
from bot.observation.errors import BadConfiguration, CommitRefused
from bot.observation.file_changes import FileSources
from tests.repairs.test_file_changes import Rehearsal
from tests.tables import OrdersTable

pytestmark = pytest.mark.smoke

LEAK = {"00000-0-leak-00001.parquet": range(10, 15)}


def header(schema: Schema) -> dict[str, str]:
    """What a manifest says of itself that was written with this schema, unpartitioned."""
    return {"schema": schema.model_dump_json(), "partition-spec": "[]", "partition-spec-id": "0"}


def like(orders: OrdersTable, *more: NestedField, schema_id: int = 9, without: str = "") -> Schema:
    """The table's columns and more, under another schema's number."""
    fields = [field for field in orders._table.schema().fields if field.name != without]
    return Schema(*fields, *more, schema_id=schema_id)


@pytest.fixture
def changed(orders: OrdersTable) -> OrdersTable:
    """A table that had column `note` for a time."""
    orders.commits("a", 1, range(10))
    with orders._table.update_schema() as change:
        change.add_column("note", StringType())
    with orders._table.update_schema() as change:
        change.delete_column("note")
    return orders


def test_a_schema_that_the_table_had_is_fit(changed: OrdersTable) -> None:
    """By field ids, whatever number it has; and with a narrower type, as before a column was widened."""
    table = changed._table.metadata
    had = next(s for s in table.schemas if s.find_column_name(table.last_column_id) == "note")

    assert why_unfit(header(had), table) is None
    assert why_unfit(header(like(changed, schema_id=0)), table) is None


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (NestedField(99, "discount", LongType(), required=False), "field 99 of its schema 9 is discount (long)"),
        (NestedField(1, "region", StringType(), required=False), "field 1 of its schema 9 is region (string)"),
    ],
    ids=["never had", "another table's"],
)
def test_a_schema_that_it_never_had_is_not(changed: OrdersTable, field: NestedField, said: str) -> None:
    """Of a table that was dropped and created anew, the same field id is another column."""
    taken = changed._table.schema().find_column_name(field.field_id) if field.field_id == 1 else ""
    schema = like(changed, field, without=taken or "")

    assert said in (why_unfit(header(schema), changed._table.metadata) or "")


def test_another_type_is_not(changed: OrdersTable) -> None:
    """A column is widened by Iceberg, and never narrowed."""
    column = next(f for f in changed._table.schema().fields if isinstance(f.field_type, LongType))
    other = NestedField(column.field_id, column.name, StringType(), required=False)
    narrow = NestedField(column.field_id, column.name, IntegerType(), required=False)
    table = changed._table.metadata

    assert why_unfit(header(like(changed, other, without=column.name)), table) is not None
    assert why_unfit(header(like(changed, narrow, without=column.name)), table) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"partition-spec-id": "7"},
        {"partition-spec": '[{"name":"d","transform":"day","source-id":3,"field-id":1000}]'},
        {"schema": "{"},
    ],
)
def test_another_spec_or_none_is_not(changed: OrdersTable, changes: dict[str, str]) -> None:
    """Values of partitions are kept by their places in the spec."""
    assert why_unfit(header(like(changed)) | changes, changed._table.metadata) is not None


def test_what_flink_writes_is_fit_and_a_strange_one_is_refused(
    orders: OrdersTable, catalog: PyIcebergCatalog, tmp_path: Path
) -> None:
    """Told by the survey before anybody decides, and refused by the commit."""
    orders.commits("a", 1, range(10))
    path = orders.leaves_manifest("a", 2, LEAK)
    rehearsal = Rehearsal(catalog)
    sources = FileSources(manifests=(str(path),))
    change = rehearsal.change(add=sources)
    fit = rehearsal.survey(add=sources)
    files = FilesOfTable(PyArrowFileIO(), orders._table.metadata, "main")
    kept = [*files._of_flink([str(path)], [])]
    strange = like(orders, NestedField(99, "discount", LongType(), required=False))
    output = orders._table.io.new_output(f"file://{tmp_path}/strange.avro")
    with write_manifest(2, orders._table.spec(), strange, output, 0, "deflate") as manifest:
        for entry in kept:
            manifest.add_entry(entry)
    path.write_bytes((tmp_path / "strange.avro").read_bytes())

    told = rehearsal.survey(add=sources)

    assert (fit.unfit, fit.add is not None) == ((), True)
    assert told.add is None
    assert told.unfit[0].startswith(f"{path.name}: field 99 of its schema 9 is discount (long)")
    with pytest.raises(CommitRefused, match="do not fit it"):
        catalog.change_files(orders.state().name, change)


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
            {"uri": "https://catalog:8181", "credential": "a:b", "header.X-Realm": "eu", "s3.region": "x"},
            {
                "type": "rest",
                "credential": "a:b",
                "header.X-Realm": "eu",
                "io-impl": "org.apache.iceberg.hadoop.HadoopFileIO",
            },
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
    [("sqlite:////a.db", "sqlite"), ("postgresql+psycopg://db/lake", "postgresql")],
)
def test_the_local_spark_is_given_the_driver_of_a_sql_catalog(uri: str, driver: str) -> None:
    """Spark brings none."""
    assert drivers_of({"uri": uri}) == (driver,)
    assert drivers_of({"uri": "http://catalog:8181"}) == ()
