"""Iceberg's own expiry as Flink's maintenance and Trino run it: Java, over a test's catalog, without Spark.

Spark's procedure deletes only what no snapshot reaches any more. The Java call deletes what the expired commits say
that they deleted, where main is all there is (`IncrementalFileCleanup`): no other test sees a file go by that.
"""

import os
import time
from importlib.util import find_spec
from pathlib import Path

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from bot.pinned_jars import java, spark_jars
from tests.tables import ORDERS


def expires_all_but_the_head(folder: Path) -> None:
    """Every commit of the table but the head and what refs keep expires, and Java deletes the files of these commits
    that it thinks unused. Cost: a JVM of its own, some three seconds."""
    jars = _jars_of_pyspark()
    port, token, process = launch_gateway(
        classpath=os.pathsep.join(map(str, (jars / "*", *spark_jars()))),
        jarpath=str(next(jars.glob("py4j*.jar"))),
        java_path=str(java()),
        javaopts=["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        _expires(gateway, folder)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(30)


def _expires(gateway: JavaGateway, folder: Path) -> None:
    jvm = gateway.jvm
    catalog = jvm.org.apache.iceberg.jdbc.JdbcCatalog()
    catalog.setConf(jvm.org.apache.hadoop.conf.Configuration())
    lake = {"uri": f"jdbc:sqlite:{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    catalog.initialize("lake", {**lake, "jdbc.schema-version": "V1"})
    table = catalog.loadTable(jvm.org.apache.iceberg.catalog.TableIdentifier.parse(ORDERS))
    table.expireSnapshots().expireOlderThan(int(time.time() * 1000) + 1).retainLast(1).commit()
    catalog.close()


def _jars_of_pyspark() -> Path:
    spec = find_spec("pyspark")
    assert spec.origin is not None
    return Path(spec.origin).parent / "jars"
