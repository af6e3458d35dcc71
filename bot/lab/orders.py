"""The table `sales.orders` and the Flink job that writes it: how both are made, in statements.

Each row is a function of its source position, so a replay writes the same rows again. The source keeps its
position in operator state and goes back to it on a restore.

What a lab's job writes, with which sink, and who reads it: chosen anew for each table.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal, Self

from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import DayTransform
from pyiceberg.types import DecimalType, LongType, NestedField, StringType, TimestamptzType

from bot.lab import orders
from bot.lab.consumers import QUERIES
from bot.lab.errors import LabError
from bot.lab.flink_cluster import FlinkCluster
from bot.lab.home import Home, LabState
from bot.lab.jars import GENERATOR, Flink

CATALOG = "lake"
TABLE = "sales.orders"
JOB_NAME = "orders-to-iceberg"
CODE_VERSION = "orders-etl-2.4.1+8f3c1d2"

ROWS_PER_SECOND = 10
LAST_POSITION = 50_000
"""The source usually ends here, 83 minutes after its start; it holds every number up to it in memory and in state."""

FEW_KEYS = 40
"""So many keys are written over and over where a story asks for it."""

RECOVERY_PROPERTY = "execution.state-recovery.path"
IGNORE_UNCLAIMED_PROPERTY = "execution.state-recovery.ignore-unclaimed-state"
JOB_ID_PROPERTY = "$internal.pipeline.job-id"

_READ_AT = ", read_at AS PROCTIME()"
_ONCE = """CREATE TEMPORARY VIEW orders_once AS
SELECT source_position FROM (
  SELECT source_position, ROW_NUMBER() OVER (PARTITION BY source_position ORDER BY read_at) AS copy FROM order_events
) WHERE copy = 1"""

_SCHEMA = Schema(
    NestedField(1, "order_id", StringType(), required=True),
    NestedField(2, "event_time", TimestamptzType(), required=True),
    NestedField(3, "customer", StringType(), required=False),
    NestedField(4, "amount", DecimalType(10, 2), required=False),
    NestedField(5, "source_position", LongType(), required=True),
)
_KEYED = _SCHEMA.model_copy(update={"identifier_field_ids": [1]})
_BY_DAY = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=DayTransform(), name="event_day"))


def create_table(catalog: Catalog, upsert: bool) -> Table:
    """Makes the empty table; partitioned by the day of the event, or, for upserts, keyed by the order's id.

    Each checkpoint gets a snapshot, an empty one too: the source emits once a second, so a stop-savepoint would
    otherwise now and then carry no row and have no snapshot of its own. Of the metadata files, each longer than the
    one before, ten minutes' worth are kept: an hour of commits would be some gigabytes.
    """
    catalog.create_namespace_if_not_exists(TABLE.split(".")[0])
    properties = {
        "format-version": "2",
        "write.upsert.enabled": "true" if upsert else "false",
        "write.parquet.compression-codec": "zstd",
        "flink.max-continuous-empty-commits": "1",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "400",
    }
    schema, spec = (_KEYED, UNPARTITIONED_PARTITION_SPEC) if upsert else (_SCHEMA, _BY_DAY)
    return catalog.create_table(TABLE, schema=schema, partition_spec=spec, properties=properties)


def start_statements(
    catalog_jdbc_uri: str,
    warehouse: str,
    first_event: datetime,
    last_position: int = LAST_POSITION,
    generator: str | None = None,
    *,
    each_once: bool = False,
) -> tuple[str, ...]:
    """The SQL that starts the job; equal statements give equal rows and equal operator ids.

    `generator`: the class that tells each row's table, for the dynamic sink. `each_once`: the job remembers each
    position in keyed state, and passes it on once.
    """
    catalog = f"""'catalog-impl' = 'org.apache.iceberg.jdbc.JdbcCatalog',
  'uri' = '{catalog_jdbc_uri}',
  'jdbc.schema-version' = 'V1',
  'warehouse' = '{warehouse}'"""
    anywhere = f"""CREATE TEMPORARY TABLE orders_anywhere (
  order_id STRING NOT NULL,
  event_time TIMESTAMP_LTZ(6) NOT NULL,
  customer STRING,
  amount DECIMAL(10, 2),
  source_position BIGINT NOT NULL
) WITH (
  'connector' = 'iceberg',
  'catalog-name' = '{CATALOG}',
  {catalog},
  'use-dynamic-iceberg-sink' = 'true',
  'dynamic-record-generator-impl' = '{generator}'
)"""
    target = ".".join(f"`{part}`" for part in (CATALOG, *TABLE.split("."))) if generator is None else "orders_anywhere"
    return (
        f"CREATE CATALOG {CATALOG} WITH (\n  'type' = 'iceberg',\n  {catalog}\n)",
        *(() if generator is None else (anywhere,)),
        f"""CREATE TEMPORARY TABLE order_events (source_position BIGINT{_READ_AT if each_once else ""}) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '{ROWS_PER_SECOND}',
  'fields.source_position.kind' = 'sequence',
  'fields.source_position.start' = '1',
  'fields.source_position.end' = '{last_position}'
)""",
        *((_ONCE,) if each_once else ()),
        _insert(
            target,
            "orders_once" if each_once else "order_events",
            first_ms=int(first_event.timestamp() * 1000),
            step_ms=1000 // ROWS_PER_SECOND,
        ),
    )


def _insert(target: str, source: str, first_ms: int, step_ms: int) -> str:
    event_ms = f"{first_ms} + source_position * {step_ms}"
    columns = (
        "CONCAT('o-', LPAD(CAST(source_position AS STRING), 8, '0')) AS order_id",
        f"CAST(TO_TIMESTAMP_LTZ({event_ms}, 3) AS TIMESTAMP_LTZ(6)) AS event_time",
        "CONCAT('c-', LPAD(CAST(MOD(source_position * 7919, 97) AS STRING), 3, '0')) AS customer",
        "CAST(CAST(MOD(source_position * 373, 20000) AS DECIMAL(10, 2)) / 100 AS DECIMAL(10, 2)) AS amount",
        "source_position",
    )
    return "\n".join((f"INSERT INTO {target}", "SELECT", "  " + ",\n  ".join(columns), f"FROM {source}"))


def with_sink_options(insert: str, options: Mapping[str, str]) -> str:
    """The same statement with these write options of the sink, as a hint behind the table's name."""
    target, _, rest = insert.partition("\n")
    told = ", ".join(f"'{name}'='{value}'" for name, value in options.items())
    return f"{target} /*+ OPTIONS({told}) */\n{rest}"


def with_column(insert: str, name: str, rewritten: Callable[[str], str]) -> str:
    """The same statement with another expression for this column: `rewritten` is given the present one."""
    lines = insert.split("\n")
    place = next(place for place, line in enumerate(lines) if line.rstrip(",").endswith(f" AS {name}"))
    expression, _, rest = lines[place].strip().rpartition(" AS ")
    lines[place] = f"  {rewritten(expression)} AS {rest}"
    return "\n".join(lines)


def few_keys(order_id: str) -> str:
    """The id of an order that comes again and again: so a keyed table has rows to replace."""
    return order_id.replace("source_position", f"MOD(source_position, {FEW_KEYS})")


def short_lived_keys(order_id: str) -> str:
    """The id of an order that comes some times within two seconds and never again: no later row replaces it."""
    return order_id.replace(
        "source_position", "(source_position - MOD(source_position, 23)) * 4 + MOD(source_position, 4)"
    )


def beginning_at(source: str, position: int) -> str:
    """The same source, whose first position is this one."""
    return source.replace("'fields.source_position.start' = '1'", f"'fields.source_position.start' = '{position}'")


def again_in_spark(insert: str, last_position: int = LAST_POSITION) -> str:
    """A SELECT of Spark that makes the very rows of this INSERT once more: a row is a function of its position."""
    select = insert[insert.index("SELECT") :]
    event_time = re.compile(r"CAST\(TO_TIMESTAMP_LTZ\((.+), 3\) AS TIMESTAMP_LTZ\(6\)\)")
    positions = f"(SELECT id AS source_position FROM range(1, {last_position + 1}))"  # noqa: S608  # a number of the lab's own
    return re.sub(r"FROM \w+$", f"FROM {positions}", event_time.sub(r"TIMESTAMP_MILLIS(\1)", select))


def session_properties(sink: str, code_version: str) -> dict[str, str]:
    """The properties of the gateway session that starts the job."""
    return {
        "pipeline.name": JOB_NAME,
        "pipeline.global-job-parameters": f"code.version:{code_version}",
        "table.exec.iceberg.use-v2-sink": "true" if sink == "v2" else "false",
        "table.local-time-zone": "UTC",
        "parallelism.default": "1",
    }


def first_event_now(now: datetime) -> datetime:
    """The event time of position 0, on a whole second, so that event times follow the wall clock."""
    return now.replace(microsecond=0) + timedelta(seconds=1)


Sink = Literal["v1", "v2", "dynamic"]
Format = Literal[2, 3]


@dataclass(frozen=True)
class Kind:
    """One table and its job."""

    sink: Sink = "v2"
    format_version: Format = 2
    upsert: bool = False
    consumers: tuple[str, ...] = tuple(QUERIES)

    def with_choice(
        self, sink: Sink | None, format_version: Format, upsert: bool, consumers: Sequence[str] | None
    ) -> Self:
        """None: as before. Raises LabError for what this lab cannot write."""
        chosen = replace(
            self,
            sink=sink or self.sink,
            format_version=format_version,
            upsert=upsert,
            consumers=self.consumers if consumers is None else tuple(consumers),
        )
        if chosen.sink == "dynamic" and upsert:
            raise LabError(
                "The lab has no dynamic sink for upserts.",
                "Expected upsert with the sink v1 or v2: the dynamic sink's generator names no key.",
                "Choose another sink, or append.",
            )
        return chosen

    def state(
        self,
        home: Home,
        flink: Flink,
        cluster: FlinkCluster,
        spark_remote: str,
        last_position: int,
        pids: dict[str, int],
        each_once: bool,
    ) -> LabState:
        """What `lab.json` says of it, from now on."""
        now = datetime.now(UTC)
        generator = GENERATOR if self.sink == "dynamic" else None
        jdbc_uri, warehouse = home.jdbc_uri, home.warehouse
        return LabState(
            home=home.folder,
            sink=self.sink,
            started_at=now,
            catalog_name=orders.CATALOG,
            catalog_uri=home.catalog_uri,
            catalog_jdbc_uri=jdbc_uri,
            warehouse=warehouse,
            table=orders.TABLE,
            flink_url=cluster.flink_url,
            gateway_url=cluster.gateway_url,
            spark_remote=spark_remote,
            checkpoint_dir=home / "checkpoints",
            savepoint_dir=home / "savepoints",
            lineage_path=home.lineage_file,
            job_name=orders.JOB_NAME,
            code_version=orders.CODE_VERSION,
            start_statements=orders.start_statements(
                jdbc_uri, warehouse, orders.first_event_now(now), last_position, generator, each_once=each_once
            ),
            session_properties=orders.session_properties(self.sink, orders.CODE_VERSION),
            recovery_property=orders.RECOVERY_PROPERTY,
            job_id_property=orders.JOB_ID_PROPERTY,
            pids=pids,
            flink_version=flink,
            format_version=self.format_version,
            upsert=self.upsert,
            consumers=self.consumers,
        )
