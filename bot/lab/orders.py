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
from pyiceberg.types import DecimalType, IntegerType, LongType, NestedField, StringType, TimestamptzType

from bot.lab import orders
from bot.lab.consumers import QUERIES
from bot.lab.errors import LabError
from bot.lab.flink_cluster import FlinkCluster
from bot.lab.home import Home, LabState, Storage
from bot.lab.jars import GENERATOR, Flink

CATALOG = "lake"
TABLE = "sales.orders"
JOB_NAME = "orders-to-iceberg"
CODE_VERSION = "orders-etl-2.4.1+8f3c1d2"

ROWS_PER_SECOND = 10
LAST_POSITION = 50_000
"""The source usually ends here, 83 minutes after its start; it holds every number up to it in memory and in state."""

KAFKA_PARALLELISM = 2
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

_ORDER = (
    NestedField(1, "order_id", StringType(), required=True),
    NestedField(2, "event_time", TimestamptzType(), required=True),
    NestedField(3, "customer", StringType(), required=False),
    NestedField(4, "amount", DecimalType(10, 2), required=False),
)
_OF_NUMBERS = Schema(*_ORDER, NestedField(5, "source_position", LongType(), required=True))
_OF_TOPIC = Schema(
    *_ORDER,
    NestedField(5, "source_partition", IntegerType(), required=True),
    NestedField(6, "source_offset", LongType(), required=True),
)
_SQL_TYPES = {"order_id": "STRING NOT NULL", "event_time": "TIMESTAMP_LTZ(6) NOT NULL", "customer": "STRING",
              "amount": "DECIMAL(10, 2)", "source_position": "BIGINT NOT NULL", "source_partition": "INT NOT NULL",
              "source_offset": "BIGINT NOT NULL"}  # fmt: skip
_BY_DAY = PartitionSpec(PartitionField(source_id=2, field_id=1000, transform=DayTransform(), name="event_day"))


@dataclass(frozen=True)
class Source:
    """What the job reads, as statements."""

    create: tuple[str, ...]
    """The last one makes what is read from."""
    name: str
    columns: tuple[str, ...]
    """`expression AS name`, one each column of the table."""
    schema: Schema


def numbers(first_event: datetime, last_position: int = LAST_POSITION, *, each_once: bool = False) -> Source:
    """Every number from 1 on; a row is a function of its number. `each_once`: the job remembers each position in keyed
    state, and passes it on once."""
    table = f"""CREATE TEMPORARY TABLE order_events (source_position BIGINT{_READ_AT if each_once else ""}) WITH (
  'connector' = 'datagen',
  'rows-per-second' = '{ROWS_PER_SECOND}',
  'fields.source_position.kind' = 'sequence',
  'fields.source_position.start' = '1',
  'fields.source_position.end' = '{last_position}'
)"""
    event_ms = f"{int(first_event.timestamp() * 1000)} + source_position * {1000 // ROWS_PER_SECOND}"
    columns = (
        "CONCAT('o-', LPAD(CAST(source_position AS STRING), 8, '0')) AS order_id",
        f"CAST(TO_TIMESTAMP_LTZ({event_ms}, 3) AS TIMESTAMP_LTZ(6)) AS event_time",
        "CONCAT('c-', LPAD(CAST(MOD(source_position * 7919, 97) AS STRING), 3, '0')) AS customer",
        "CAST(CAST(MOD(source_position * 373, 20000) AS DECIMAL(10, 2)) / 100 AS DECIMAL(10, 2)) AS amount",
        "source_position",
    )
    if each_once:
        return Source((table, _ONCE), "orders_once", columns, _OF_NUMBERS)
    return Source((table,), "order_events", columns, _OF_NUMBERS)


def topic(servers: str, name: str) -> Source:
    """A topic of orders as JSON; where a record lies in it is its position."""
    table = f"""CREATE TEMPORARY TABLE order_events (
  order_id STRING NOT NULL,
  event_time TIMESTAMP_LTZ(3) NOT NULL,
  customer STRING,
  amount DECIMAL(10, 2),
  source_partition INT NOT NULL METADATA FROM 'partition' VIRTUAL,
  source_offset BIGINT NOT NULL METADATA FROM 'offset' VIRTUAL
) WITH (
  'connector' = 'kafka',
  'topic' = '{name}',
  'properties.bootstrap.servers' = '{servers}',
  'properties.group.id' = '{JOB_NAME}',
  'properties.auto.offset.reset' = 'earliest',
  'properties.isolation.level' = 'read_committed',
  'scan.startup.mode' = 'earliest-offset',
  'scan.topic-partition-discovery.interval' = '3 s',
  'format' = 'json',
  'json.timestamp-format.standard' = 'ISO-8601'
)"""
    columns = (
        "order_id",
        "CAST(event_time AS TIMESTAMP_LTZ(6)) AS event_time",
        "customer",
        "amount",
        "source_partition",
        "source_offset",
    )
    return Source((table,), "order_events", columns, _OF_TOPIC)


def create_table(catalog: Catalog, schema: Schema, upsert: bool) -> Table:
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
    if upsert:
        keyed, spec = schema.model_copy(update={"identifier_field_ids": [1]}), UNPARTITIONED_PARTITION_SPEC
    else:
        keyed, spec = schema, _BY_DAY
    return catalog.create_table(TABLE, schema=keyed, partition_spec=spec, properties=properties)


def start_statements(storage: Storage, source: Source, generator: str | None = None) -> tuple[str, ...]:
    """The SQL that starts the job; equal statements give equal rows and equal operator ids.

    `generator`: the class that tells each row's table, for the dynamic sink.
    """
    catalog = _options(storage.engine_properties)
    declared = ",\n".join(f"  {field.name} {_SQL_TYPES[field.name]}" for field in source.schema.fields)
    anywhere = f"""CREATE TEMPORARY TABLE orders_anywhere (
{declared}
) WITH (
  'connector' = 'iceberg',
  'catalog-name' = '{CATALOG}',
  {catalog},
  'use-dynamic-iceberg-sink' = 'true',
  'dynamic-record-generator-impl' = '{generator}'
)"""
    target = ".".join(f"`{part}`" for part in (CATALOG, *TABLE.split("."))) if generator is None else "orders_anywhere"
    select = "SELECT\n  " + ",\n  ".join(source.columns)
    return (
        f"CREATE CATALOG {CATALOG} WITH (\n  'type' = 'iceberg',\n  {catalog}\n)",
        *(() if generator is None else (anywhere,)),
        *source.create,
        f"INSERT INTO {target}\n{select}\nFROM {source.name}",
    )


def _options(values: Mapping[str, str]) -> str:
    return ",\n  ".join(f"'{name}' = '{value}'" for name, value in values.items())


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


def reading_otherwise(statements: Sequence[str], options: Mapping[str, str]) -> list[str]:
    """The same statements, whose source has these options, in place of its own or beside them."""
    changed = []
    for statement in statements:
        if "TABLE order_events" in statement:
            for name, value in options.items():
                statement = re.sub(rf",?\n  '{re.escape(name)}' = '[^']*'", "", statement)
                statement = statement.removesuffix("\n)") + f",\n  '{name}' = '{value}'\n)"
        changed.append(statement)
    return changed


def again_in_spark(insert: str, last_position: int = LAST_POSITION) -> str:
    """A SELECT of Spark that makes the very rows of this INSERT once more: a row is a function of its position."""
    select = insert[insert.index("SELECT") :]
    event_time = re.compile(r"CAST\(TO_TIMESTAMP_LTZ\((.+), 3\) AS TIMESTAMP_LTZ\(6\)\)")
    positions = f"(SELECT id AS source_position FROM range(1, {last_position + 1}))"  # noqa: S608  # a number of the lab's own
    return re.sub(r"FROM \w+$", f"FROM {positions}", event_time.sub(r"TIMESTAMP_MILLIS(\1)", select))


def session_properties(sink: str, code_version: str, parallelism: int = 1) -> dict[str, str]:
    return {
        "pipeline.name": JOB_NAME,
        "pipeline.global-job-parameters": f"code.version:{code_version}",
        "table.exec.iceberg.use-v2-sink": "true" if sink == "v2" else "false",
        "table.local-time-zone": "UTC",
        "parallelism.default": str(parallelism),
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
    parallelism: int = 1
    """In a small lab."""

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
        storage: Storage,
        flink: Flink,
        cluster: FlinkCluster,
        spark_remote: str,
        source: Source,
        pids: dict[str, int],
        **of_stack: str,
    ) -> LabState:
        """What `lab.json` says of it, from now on. `of_stack`: what is not so in a small lab."""
        generator = GENERATOR if self.sink == "dynamic" else None
        parallelism = KAFKA_PARALLELISM if of_stack else self.parallelism
        return LabState(
            **storage.model_dump(),
            **of_stack,
            home=home.folder,
            sink=self.sink,
            started_at=datetime.now(UTC),
            table=orders.TABLE,
            flink_url=cluster.flink_url,
            gateway_url=cluster.gateway_url,
            spark_remote=spark_remote,
            lineage_path=home.lineage_file,
            job_name=orders.JOB_NAME,
            code_version=orders.CODE_VERSION,
            start_statements=orders.start_statements(storage, source, generator),
            session_properties=orders.session_properties(self.sink, orders.CODE_VERSION, parallelism),
            pids=pids,
            flink_version=flink,
            format_version=self.format_version,
            upsert=self.upsert,
            consumers=self.consumers,
        )
