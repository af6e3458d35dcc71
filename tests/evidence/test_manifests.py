"""What stands in for Spark tells the same of manifests as Spark does."""

from pyspark.sql import SparkSession

from spark_tasks import _few_entries, _manifests
from tests.evidence import manifests
from tests.evidence.histories import write
from tests.tables import OrdersTable
from tests.upserts import upserts


def test_pyiceberg_reads_what_spark_reads(session: SparkSession, orders: OrdersTable) -> None:
    """Of appends, replaced files, deletes, nulls and columns without bounds; also after a merge."""
    orders.sets({"write.metadata.metrics.column.customer": "none"})
    write(orders, "a1[0:10] a2[10:20,-]p3 +[20:30]p-7[5:9]p2 drop[12:15]")
    upserts(orders, "a", 3, [30, 31], keys=[7, 8], deletes=[1])
    orders.sets({"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"})
    write(orders, "a4[40:50]")
    table = orders.state()
    columns = (table.columns[2], None, table.columns[1], table.columns[4])

    read = _few_entries.entries_by_commit(session, _manifests.own_manifests(session, table.snapshots), columns)
    told = manifests.entries_by_commit(session, table.snapshots, columns)

    by_spark, by_pyiceberg = (
        sorted(each for some in of for each in some if each.status in {1, 2}) for of in (read, told)
    )
    assert len(by_spark) == 8
    assert by_spark == by_pyiceberg
