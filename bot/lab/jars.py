"""What the lab runs on: pinned jars of Flink, Spark and Iceberg, and the class of the dynamic sink.

Cost: about 270 MB once; a third of a second of hashing on each use.

Iceberg's dynamic sink in SQL: it asks for a class that tells each row's table. Compiled here, without a JDK.

The class is compiled by the Janino that PySpark carries, in a JVM of its own, in a second or two. Flink must have it on
its own class path: the sink looks for it beside itself, where a jar that a session adds is not seen.
"""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from bot.pinned_jars import cache_folder, java, parse_pins, present, pyspark_jars, spark_jars

Flink = Literal["2.1", "1.20"]
Needed = Literal[
    "flink", "flink-2.1", "flink-1.20", "consumers", "rocksdb-2.1", "rocksdb-1.20",
    "broker", "kafka-flink", "s3-plugin", "s3-iceberg", "rest", "rest-s3",
]  # fmt: skip
PINS = Path(__file__).with_name("jars.txt")


def jars_for(*needed: Needed) -> list[Path]:
    """Fetched when missing. The largest are Flink's Kafka source (80 MB), RocksDB (50 MB), the broker (44 MB) and the
    REST server (32 MB)."""
    return present([jar for jar in parse_pins(PINS, get_args(Needed)) if jar.needed_by in needed])


def flink_jars(version: Flink) -> list[Path]:
    """This Flink, its SQL gateway, Iceberg's Flink runtime and the SQLite driver; fetched when missing."""
    return jars_for("flink", "flink-2.1" if version == "2.1" else "flink-1.20")


def rocksdb_jars(version: Flink) -> list[Path]:
    """The state backend of this Flink that keeps its state on disk; fetched when missing (about 50 MB)."""
    return jars_for("rocksdb-2.1" if version == "2.1" else "rocksdb-1.20")


def rest_server_jars(*, on_s3: bool = False) -> list[Path]:
    """Iceberg's REST catalog server, with PySpark's own Hadoop client; fetched when missing (32 MB)."""
    more: tuple[Needed, ...] = ("rest-s3", "s3-iceberg") if on_s3 else ()
    return [*jars_for("rest", *more), *pyspark_jars().glob("hadoop-client-*.jar")]


def consumer_jars() -> list[Path]:
    """Those of Spark and OpenLineage's listener: what the consumers of the lab run with; fetched when missing."""
    return [*spark_jars(), *jars_for("consumers")]


def prefetch(flink: Flink, say: Callable[[str], None]) -> None:
    """Fetches and verifies everything, so that the first lab with this Flink starts without the network."""
    for needed, jars in ((f"Flink {flink}", flink_jars(flink)), ("Spark", consumer_jars())):
        size_mb = sum(jar.stat().st_size for jar in jars) // 1_000_000
        say(f"{len(jars)} jars for {needed}, {size_mb} MB, verified in {cache_folder() / 'jars'}")


GENERATOR = "waterline.lab.ToOneTable"
_SOURCE = """
package waterline.lab;

import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.util.Collector;
import org.apache.iceberg.DistributionMode;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.sink.dynamic.DynamicRecord;
import org.apache.iceberg.flink.sink.dynamic.DynamicTableRecordGenerator;

public class ToOneTable extends DynamicTableRecordGenerator {
  private transient Schema schema;
  private transient PartitionSpec spec;
  private transient TableIdentifier table;

  public ToOneTable(RowType rowType) {
    super(rowType);
  }

  public void generate(Object row, Collector out) {
    if (schema == null) {
      schema = new Schema(FlinkSchemaUtil.convert(rowType()).asStructType().fields());
      spec = PartitionSpec.builderFor(schema).day("event_time", "event_day").build();
      table = TableIdentifier.parse("%s");
    }
    out.collect(new DynamicRecord(table, "main", schema, (RowData) row, spec, DistributionMode.NONE, 1));
  }
}
"""


def generator_jar(folder: Path, version: Flink, table: str) -> Path:
    """A jar with the class that sends every row to this table (`namespace.name`), partitioned by the event's day."""
    jars = [*flink_jars(version), *pyspark_jars().glob("janino-*.jar"), *pyspark_jars().glob("commons-compiler-*.jar")]
    jars += pyspark_jars().glob("hadoop-client-*.jar")
    bridge = next(pyspark_jars().glob("py4j-*.jar"))
    class_path = ":".join(str(jar) for jar in jars)
    port = launch_gateway(jarpath=str(bridge), classpath=class_path, die_on_exit=True, java_path=str(java()))
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        compiler = gateway.jvm.org.codehaus.janino.SimpleCompiler()
        compiler.cook(_SOURCE % table)
        classes = {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}
    finally:
        gateway.shutdown()
    jar = folder / "dynamic-sink.jar"
    with zipfile.ZipFile(jar, "w") as into:
        for name, code in classes.items():
            into.writestr(f"{name.replace('.', '/')}.class", code)
    return jar
