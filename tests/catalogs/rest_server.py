"""Iceberg's own REST catalog servlet over a SQLite catalog, in a Java process of its own, on loopback.

The reference server's main class listens on every interface, so its parts are put together here: the same servlet
and adapter on the same Jetty, bound to 127.0.0.1.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from bot.pinned_jars import LEAN, java, pyspark_jars
from tests.catalogs.jars import server_jars


class RestServer:
    """One running server."""

    def __init__(self, address: str, warehouse: Path) -> None:
        self.address = address
        self.warehouse = warehouse
        self.properties = {"type": "rest", "uri": address}


@contextmanager
def rest_server(folder: Path) -> Iterator[RestServer]:
    """A server with an empty catalog; its warehouse and database lie in `folder`."""
    path = ":".join(str(jar) for jar in server_jars())
    port, token, process = launch_gateway(
        classpath=path,
        jarpath=_py4j_jar(),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
        java_path=str(java()),
        javaopts=[*LEAN, "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"],
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        jetty = _served(gateway.jvm, folder)
        yield RestServer(f"http://127.0.0.1:{jetty.getURI().getPort()}", folder / "warehouse")
        jetty.stop()
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=90)


def _served(jvm: Any, folder: Path) -> Any:
    catalog = jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog(
        "lake", _hash_map(jvm, _settings(folder)), jvm.org.apache.hadoop.conf.Configuration()
    )
    servlet = jvm.org.apache.iceberg.rest.RESTCatalogServlet(jvm.org.apache.iceberg.rest.RESTCatalogAdapter(catalog))
    handler = jvm.org.eclipse.jetty.ee10.servlet.ServletContextHandler()
    handler.addServlet(jvm.org.eclipse.jetty.ee10.servlet.ServletHolder(servlet), "/*")
    server = jvm.org.eclipse.jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", 0))
    server.setHandler(handler)
    server.start()
    return server


def _settings(folder: Path) -> Mapping[str, str]:
    return {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{folder / 'rest.db'}",
        "jdbc.schema-version": "V1",
        "warehouse": (folder / "warehouse").as_uri(),
        "clients": "1",
    }


def _hash_map(jvm: Any, values: Mapping[str, str]) -> Any:
    made = jvm.java.util.HashMap()
    for key, value in values.items():
        made.put(key, value)
    return made


def _py4j_jar() -> str:
    """PySpark carries the Java side of py4j, too."""
    return str(next(pyspark_jars().glob("py4j-*.jar")))
