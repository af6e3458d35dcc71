"""Hive's metastore through PyIceberg, each of whose calls ends, and which several threads may ask at once.

PyIceberg's client (0.12) waits for ever, goes to the first of several addresses only, and keeps its one connection
where every thread replaces it: of two threads at once, one closes the other's.

Imported only where a catalog of this kind is opened: Thrift is no requirement.
"""

from collections.abc import Mapping
from threading import local
from typing import Any, cast
from urllib.parse import urlsplit

from hive_metastore.ThriftHiveMetastore import Client
from pyiceberg.catalog import URI
from pyiceberg.catalog.hive import HIVE_KERBEROS_AUTH, HIVE_KERBEROS_SERVICE_NAME, HiveCatalog, _HiveClient
from pyiceberg.utils.properties import property_as_bool
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport, TSaslClientTransport, TTransportBase, TTransportException

from bot.adapters.iceberg.backends import ANSWER_TIMEOUT_S, CONNECT_WITHIN_S, LIMIT


class LimitedHive(HiveCatalog):
    """See the module. Of several addresses, the first that takes the connection is asked."""

    def __init__(self, name: str, **properties: str) -> None:
        limit_s = float(properties.pop(LIMIT, ANSWER_TIMEOUT_S))
        super().__init__(name, **properties)
        self._client = cast("_HiveClient", _Connections(properties, limit_s))


class _Connections:
    """In place of PyIceberg's client: each `with` has a connection of its own."""

    def __init__(self, properties: Mapping[str, str], limit_s: float) -> None:
        self._properties = dict(properties)
        self._addresses = [each.strip() for each in properties[URI].split(",")]
        self._limit_s = limit_s
        self._of_thread = local()

    def __enter__(self) -> Client:
        """Raises TTransportException where no address takes the connection."""
        *others, last = self._addresses
        for address in others:
            try:
                return self._opened(address)
            except TTransportException:
                continue
        return self._opened(last)

    def __exit__(self, *raised: Any) -> None:
        self._mine().pop().__exit__(*raised)

    def _opened(self, address: str) -> Client:
        made = _Connection(address, self._properties, self._limit_s)
        client = made.__enter__()
        self._mine().append(made)
        return client

    def _mine(self) -> "list[_Connection]":
        """Of this thread, the newest last."""
        if not hasattr(self._of_thread, "open"):
            self._of_thread.open = []
        return cast("list[_Connection]", self._of_thread.open)


class _Connection(_HiveClient):
    def __init__(self, address: str, properties: dict[str, str], limit_s: float) -> None:
        self._limit_s = limit_s
        service = properties.get(HIVE_KERBEROS_SERVICE_NAME, "hive")
        has_login = property_as_bool(properties, HIVE_KERBEROS_AUTH, False)
        super().__init__(address, properties.get("ugi"), has_login, service)

    def _init_thrift_transport(self) -> TTransportBase:
        where = urlsplit(self._uri)
        socket = _Socket(where.hostname, where.port, self._limit_s)
        if self._kerberos_auth:
            return TSaslClientTransport(socket, host=where.hostname, service=self._kerberos_service_name)
        return TBufferedTransport(socket)


class _Socket(TSocket):  # type: ignore[misc] # Thrift has no types
    def __init__(self, host: str | None, port: int | None, limit_s: float) -> None:
        super().__init__(host, port)
        self._limit_s = limit_s

    def open(self) -> None:
        self.setTimeout(1000 * min(CONNECT_WITHIN_S, self._limit_s))
        super().open()
        self.setTimeout(1000 * self._limit_s)
