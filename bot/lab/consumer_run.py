"""One run of one or more consumers, as a program: reads with Spark, leaves a lineage event, says what it read.

It may be started before Spark listens and before the table has a row; it waits for both.

Usage: python -m bot.lab.consumer_run HOME TOLD_FILE CONSUMER…
"""

import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pyspark.sql.connect.session import SparkSession

from bot.lab.consumers import QUERIES, Read
from bot.lab.home import Home, LabState
from bot.lab.lineage import append_event, complete_event
from bot.lab.spark_server import listens
from bot.lab.waiting import until


def read(spark: SparkSession, state: LabState, consumer: str) -> Read:
    """Reads the newest snapshot of the table and appends the event of this run.

    The snapshot is looked up first and then read by id, so that the event says what was read.
    """
    table = f"{state.catalog_name}.{state.table}"
    snapshot_id = until("a first snapshot", lambda: head_of(spark, table), 60, "the job's page in Flink")
    spark.sql(QUERIES[consumer].format(table=table, snapshot=snapshot_id)).toArrow()
    run = Read(consumer=consumer, run_id=str(uuid4()), snapshot_id=snapshot_id)
    location = f"{state.warehouse}/{state.table.replace('.', '/')}"
    names = {"table": state.table, "catalog": state.catalog_name}
    event = complete_event(consumer, run.run_id, datetime.now(UTC), location, snapshot_id=snapshot_id, **names)
    append_event(state.lineage_path, event)
    return run


def head_of(spark: SparkSession, table: str) -> int | None:
    """The id of the snapshot that `main` is at; None in a table without one."""
    heads = spark.sql(f"SELECT snapshot_id FROM {table}.refs WHERE name = 'main'").take(1)  # noqa: S608
    return int(heads[0]["snapshot_id"]) if heads else None


def main(arguments: list[str]) -> None:
    """Runs the named consumers one after the other."""
    state = Home(Path(arguments[0])).state()
    until("Spark", lambda: listens(state.spark_remote), 60, "the log of spark in the lab's logs folder")
    spark = SparkSession.builder.remote(state.spark_remote).getOrCreate()
    with Path(arguments[1]).open("w", encoding="utf-8") as told:
        for consumer in arguments[2:]:
            told.write(read(spark, state, consumer).model_dump_json() + "\n")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1:])
