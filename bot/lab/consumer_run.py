"""One run of one or more consumers, as a program: each a Spark application of its own, whose listener writes the
lineage events; at the end it says what was read.

It may be started before the table has a row; it waits for one.

Usage: python -m bot.lab.consumer_run HOME TOLD_FILE CONSUMER…
"""

import contextlib
import os
import signal
import sys
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

from bot.lab.consumers import QUERIES, Read, latest_reads, listener
from bot.lab.errors import until
from bot.lab.home import Home, LabState
from bot.lab.jars import consumer_jars
from bot.lab.proof import open_catalog
from bot.lab.spark_server import catalog_settings, log4j_option, s3_jars
from bot.pinned_jars import LEAN, java


def application(home: Home, state: LabState, consumer: str) -> SparkSession:
    """The Spark of one consumer, in this process, with OpenLineage's listener."""
    settings = {
        "spark.driver.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraClassPath": ":".join(str(jar) for jar in [*consumer_jars(), *s3_jars(state)]),
        "spark.driver.extraJavaOptions": " ".join([*LEAN, log4j_option(home)]),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(home / "scratch"),
        "spark.sql.warehouse.dir": str(home / "scratch" / "spark-warehouse"),
        "spark.sql.shuffle.partitions": "2",
        **catalog_settings(state, uri="Uri" if state.stack == "small" else "uri"),
        **listener(state.lineage_path),
    }
    builder = SparkSession.builder.appName(consumer).master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def read(home: Home, state: LabState, consumer: str) -> Read:
    """Reads the newest snapshot of the table.

    The snapshot is looked up first and then read by id, so that what is said here is what was read.
    """
    spark = application(home, state, consumer)
    snapshot_id = until("a first snapshot", lambda: head_of(state), 120, "the job's page in Flink")
    table = f"{state.catalog_name}.{state.table}"
    spark.sql(QUERIES[consumer].format(table=table, snapshot=snapshot_id)).collect()
    spark.stop()
    _end_java()
    return latest_reads(state.lineage_path, [snapshot_id])[consumer]


def head_of(state: LabState) -> int | None:
    """The id of the snapshot that `main` is at; None in a table without one."""
    with contextlib.closing(open_catalog(state)) as catalog:
        head = catalog.load_table(state.table).current_snapshot()
    return None if head is None else head.snapshot_id


def _end_java() -> None:
    """The next application gets a Java of its own. In one that had another before, the listener may write its first
    events before it knows the application's name (seen with OpenLineage 1.53: always with a REST catalog, else now and
    then under load)."""
    if (gateway := SparkContext._gateway) is not None:
        gateway.shutdown()
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None


def _end_with_spark(*_: object) -> None:
    """At once: an application that is being stopped would still write events, into the next lab's file."""
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.proc.kill()
    os._exit(1)


def main(arguments: list[str]) -> None:
    """Runs the named consumers one after the other."""
    signal.signal(signal.SIGTERM, _end_with_spark)
    home = Home(Path(arguments[0]))
    os.environ |= {"JAVA_HOME": str(java().parents[1]), "SPARK_LOCAL_IP": "127.0.0.1", **home.state().environment}
    with Path(arguments[1]).open("w", encoding="utf-8") as told:
        for consumer in arguments[2:]:
            told.write(read(home, home.state(), consumer).model_dump_json() + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
