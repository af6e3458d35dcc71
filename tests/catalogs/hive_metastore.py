"""A real Hive metastore (2.3, which PySpark carries) over a Derby in memory, in a Java process of its own, on loopback.

Its own main class listens on every interface and logs to a folder outside of the test's, so its parts are put together
here: the same handler behind the same Thrift server, bound to 127.0.0.1.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JError

from bot.pinned_jars import LEAN, OPENS, java, pyspark_jars, spark_jars


class Metastore:
    """One running server."""

    def __init__(self, address: str, warehouse: Path, jvm: Any) -> None:
        self.address = address
        self.jvm = jvm
        self.properties = {"type": "hive", "uri": address, "warehouse": warehouse.as_uri()}

    def table_of_java(self, name: str) -> Any:
        """The table as Iceberg's own Java sees it, through its Hive catalog: what Flink and Spark commit by."""
        settings = self.jvm.java.util.HashMap()
        for key, value in self.properties.items():
            settings.put(key, value)
        catalog = self.jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog(
            "lake", settings, self.jvm.org.apache.hadoop.conf.Configuration()
        )
        identifier = self.jvm.org.apache.iceberg.catalog.TableIdentifier
        return catalog.loadTable(identifier.parse(name))


@contextmanager
def hive_metastore(folder: Path) -> Iterator[Metastore]:
    """An empty metastore; its warehouse lies in `folder`."""
    jars = pyspark_jars()
    port, token, process = launch_gateway(
        classpath=":".join((f"{jars}/*", *(str(jar) for jar in spark_jars()))),
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
        java_path=str(java()),
        javaopts=[*LEAN, *OPENS, "-Xmx384m", f"-Dderby.stream.error.file={folder / 'derby.log'}"],
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        socket, server = _made(gateway.jvm, folder)
        Thread(target=_serve, args=(server,), daemon=True).start()
        address = f"thrift://127.0.0.1:{socket.getServerSocket().getLocalPort()}"
        yield Metastore(address, folder / "warehouse", gateway.jvm)
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=90)


def _made(jvm: Any, folder: Path) -> tuple[Any, Any]:
    hive, thrift = jvm.org.apache.hadoop.hive, jvm.org.apache.thrift
    conf = hive.conf.HiveConf()
    for name, value in _settings(folder).items():
        conf.set(name, value)
    hive.metastore.txn.TxnDbUtil.prepDb(conf)
    handler = getattr(hive.metastore, "HiveMetaStore$HMSHandler")("metastore", conf, False)
    proxy = hive.metastore.HiveMetaStore.newRetryingHMSHandler(handler, conf)
    socket = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
    args = getattr(thrift.server, "TThreadPoolServer$Args")(socket)
    args.processor(hive.metastore.TSetIpAddressProcessor(proxy))
    return socket, thrift.server.TThreadPoolServer(args)


def _serve(server: Any) -> None:
    try:
        server.serve()
    except Py4JError:
        return  # the process has ended


def _settings(folder: Path) -> dict[str, str]:
    return {
        "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
        "datanucleus.schema.autoCreateAll": "true",
        "datanucleus.connectionPoolingType": "HikariCP",
        "hive.metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": (folder / "warehouse").as_uri(),
    }
