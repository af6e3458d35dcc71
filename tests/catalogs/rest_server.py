"""Iceberg's own REST catalog server over a SQLite catalog and local files, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.lab import rest_catalog
from bot.lab.jars import rest_server_jars
from bot.pinned_jars import MachineError


class RestServer:
    """One running server."""

    def __init__(self, address: str, warehouse: Path) -> None:
        self.address = address
        self.warehouse = warehouse
        self.properties = {"type": "rest", "uri": address}


@contextmanager
def rest_server(folder: Path) -> Iterator[RestServer]:
    """A server with an empty catalog; its warehouse and database lie in `folder`. Skips the test where its jars are
    neither cached nor to be had."""
    try:
        jars = rest_server_jars()
    except MachineError as error:
        pytest.skip(f"the REST catalog server's jars cannot be had: {error}")
    properties = {
        "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
        "uri": f"jdbc:sqlite:{folder / 'rest.db'}",
        "jdbc.schema-version": "V1",
        "warehouse": (folder / "warehouse").as_uri(),
        "clients": "1",
    }
    with rest_catalog.rest_server(properties, jars) as address:
        yield RestServer(address, folder / "warehouse")
