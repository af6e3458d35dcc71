"""Iceberg's own REST catalog servlet over another catalog, in a Java process, on loopback.

The reference server's main class listens on every interface, so its parts are put together here: the same servlet
and adapter on the same Jetty, bound to 127.0.0.1.

Usage: python -m bot.lab.rest_catalog PORT PROPERTIES (JSON)
"""

import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from bot.lab.jars import rest_server_jars
from bot.pinned_jars import LEAN, java, pyspark_jars


@contextmanager
def rest_server(properties: Mapping[str, str], jars: Sequence[Path], port: int = 0) -> Iterator[str]:
    """Serves the catalog of these properties; yields its address. It ends with the block."""
    gateway_port, token, process = launch_gateway(
        classpath=":".join(str(jar) for jar in jars),
        jarpath=str(next(pyspark_jars().glob("py4j-*.jar"))),
        die_on_exit=True,
        enable_auth=True,
        return_proc=True,
        java_path=str(java()),
        javaopts=[*LEAN, "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"],
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=gateway_port, auth_token=token, auto_convert=True))
    try:
        jetty = _served(gateway.jvm, properties, port)
        yield f"http://127.0.0.1:{jetty.getURI().getPort()}"
        jetty.stop()
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=90)


def _served(jvm: Any, properties: Mapping[str, str], port: int) -> Any:
    made = jvm.java.util.HashMap()
    for key, value in properties.items():
        made.put(key, value)
    catalog = jvm.org.apache.iceberg.CatalogUtil.buildIcebergCatalog(
        "lake", made, jvm.org.apache.hadoop.conf.Configuration()
    )
    servlet = jvm.org.apache.iceberg.rest.RESTCatalogServlet(jvm.org.apache.iceberg.rest.RESTCatalogAdapter(catalog))
    handler = jvm.org.eclipse.jetty.ee10.servlet.ServletContextHandler()
    handler.addServlet(jvm.org.eclipse.jetty.ee10.servlet.ServletHolder(servlet), "/*")
    server = jvm.org.eclipse.jetty.server.Server(jvm.java.net.InetSocketAddress("127.0.0.1", port))
    server.setHandler(handler)
    server.start()
    return server


def main(arguments: list[str]) -> None:
    """Serves until it is ended. Killed, it takes its Java with it: that ends with the pipe between them."""
    asked_to_end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_end.set())
    with rest_server(json.loads(arguments[1]), rest_server_jars(on_s3=True), int(arguments[0])):
        asked_to_end.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
