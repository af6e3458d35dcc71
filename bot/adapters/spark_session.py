"""One Spark Connect session: made when first needed, kept warm, made anew when its server is gone."""

import contextlib
import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import grpc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy

from bot.adapters.spark_server import EmbeddedSpark, SparkServer, listens
from bot.adapters.spark_storage import AccessOf, Storage, bucket_conf, has_keys, keys_told, storage_of
from bot.domain.errors import EvidenceFailed
from bot.domain.table import TableState

warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
"""Said beside the error that says it better, and by background clean-up after a server's death."""

TROUBLE = (PySparkException, grpc.RpcError)
"""What Spark Connect's client raises."""
_DEFAULT_PORT = 15002
_PATIENCE_S = 3.0
_LISTING_TASKS = 32
"""Spark makes one task of each path that it looks for, up to 10,000: 5,000 manifests took 24 s on two cores to find,
and take 1.7 s in 32 tasks. The embedded server makes one for each of its cores: it has no more hands."""
_GROUPS_IN_MEMORY = "20000"
"""Groups that collect something, kept in memory by one task before Spark sorts rows instead; 128 by itself, which
made the commits of 25,000 repeated keys a quarter slower."""
_RETRIES = {"remote": 4, "embedded": 2}
"""About 4 s and a quarter of a second; the client's own 15 would keep a responder waiting for ten minutes."""
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""Of a session for small questions. Spark writes Java for each query and compiles it, which for a few thousand entries
costs more than going through them: measured on two cores, the ledger of 500 commits took 5.2 s (14 s the first time)
and takes 1.7 s, that of 20 commits half as long when it is asked for the first time. Rows are read by compiled code."""
_SAID_TWICE = "LAST_WIN"
"""Of a map that names a key twice, as a bad writer's bounds may: by itself Spark fails the whole question."""
_BY_THEIR_VERY_NAMES = "true"
"""Whether columns are told apart by case: to Iceberg `id` and `ID` are two, and Spark by itself calls both ambiguous,
wherever a table has two such columns, asked about or not (`AMBIGUOUS_REFERENCE`, `COLUMN_ALREADY_EXISTS`)."""
_TIME_ZONE = "spark.sql.session.timeZone"
_OPENED: list[SparkSession] = []
"""Sessions that were opened, so that none is ever collected. A session that is (pyspark 4.1) waits, in whichever thread
collects it and under a lock that every query needs, until what all sessions have to release is released. Where that
thread is the one by which gRPC signs requests, nothing goes on for ever (seen once in some dozen test runs)."""


class SparkConnection:
    """The way to Spark: an embedded server, or a remote one by its `sc://…` address.

    Two sessions at most: one that compiles its queries, for rows, and one that does not, for metadata."""

    def __init__(self, where: EmbeddedSpark | str, access_of: AccessOf | None = None) -> None:
        """`access_of`: what the catalog vends for a table; the embedded server reads the table's storage with it."""
        self._where = where
        self._access_of = access_of
        self._lock = threading.Lock()
        self._server: SparkServer | None = None
        self._sessions: dict[bool, SparkSession] = {}
        self._is_closed = False

    def session(
        self,
        is_given_up: Callable[[], bool] = lambda: False,
        *,
        is_interpreted: bool = False,
        table: TableState | None = None,
    ) -> SparkSession:
        """The session, started if there is none, and able to read the files of `table`. Raises EvidenceFailed, and
        EvidenceCancelled for a start that is given up."""
        with self._lock:
            if self._is_closed:
                raise EvidenceFailed(
                    "Spark is stopped.", "Waterline is shutting down.", "Start Waterline and run it again."
                )
            self._start(is_given_up, table)
            held = self._sessions.get(is_interpreted)
            if held is None or not _answers(held):
                self._sessions[is_interpreted] = self._opened(self._url, is_interpreted=is_interpreted)
            self._give(self._sessions[is_interpreted], table)
            return self._sessions[is_interpreted]

    def beside(self, session_id: str, table: TableState | None = None) -> SparkSession:
        """A session of its own on the same server, under this id (a UUID): the same id finds the same session, also
        after a restart of the bot. The caller stops it. Raises EvidenceFailed."""
        self.session(table=table)
        with self._lock:
            url = self._url
            session = self._opened(f"{url.rstrip('/')}{'' if ';' in url else '/'};session_id={session_id}")
            self._give(session, table)
            return session

    def lends_for(self, table: TableState) -> tuple[Storage | None, str | None]:
        """What must not change while a task on this table runs: the storage that the embedded server reads, and the
        keys, which the catalog may vend for each table: Spark holds one set at a time."""
        if not isinstance(self._where, EmbeddedSpark):
            return None, None
        is_own = keys_told(self._access(table)) != keys_told(self._where.properties)
        return storage_of(table.metadata_location), table.name if is_own else None

    def _access(self, table: TableState | None) -> Mapping[str, str]:
        """What the catalog said with this table, else its properties."""
        if table is not None and self._access_of is not None:
            return self._access_of(table.name)
        return self._where.properties if isinstance(self._where, EmbeddedSpark) else {}

    def _give(self, session: SparkSession, table: TableState | None) -> None:
        """What the catalog vended for this table."""
        if self._server is None or table is None:
            return
        access = self._access(table)
        self._server.lend(access)
        for key, value in bucket_conf(table, access).items():
            session.conf.set(key, value)

    @property
    def pid(self) -> int | None:
        """Of the embedded server's JVM; None when there is none."""
        return self._server.pid if self._server is not None else None

    def is_lost(self) -> bool:
        """Whether the server went away under a query, or closed the session; then what is left of it is discarded."""
        with self._lock:
            lost = not self._sessions or not self._is_there() or not all(map(_answers, self._sessions.values()))
            if lost:
                self._discard()
            return lost

    def close(self) -> None:
        """Release the session and stop an embedded server. Safe to repeat."""
        with self._lock:
            self._is_closed = True
            self._discard()

    @property
    def _url(self) -> str:
        """Of what was reached last."""
        if isinstance(self._where, str):
            return self._where
        return self._server.url if self._server is not None else ""

    def _start(self, is_given_up: Callable[[], bool], table: TableState | None) -> None:
        """The embedded server, where none runs that can read this table. Without a table any will do."""
        if not isinstance(self._where, EmbeddedSpark):
            return
        known = self._server.storages if self._server is not None else frozenset()
        needed, access, lends = known, self._access(table), self._server is not None and self._server.lends
        if table is not None and (storage := storage_of(table.metadata_location)) is not None:
            needed, lends = known | {storage}, has_keys(access)
        if self._server is None or not self._is_there() or (needed, lends) != (known, self._server.lends):
            self._discard()
            self._server = SparkServer(self._where, is_given_up, needed, access)

    def _is_there(self) -> bool:
        """Of a remote server its sessions tell."""
        return isinstance(self._where, str) or (self._server is not None and self._server.is_alive)

    def _opened(self, url: str, *, is_interpreted: bool = False) -> SparkSession:
        if isinstance(self._where, EmbeddedSpark):
            return open_session(url, _RETRIES["embedded"], self._where.cores, is_interpreted=is_interpreted)
        _reachable(self._where)
        return open_session(url, _RETRIES["remote"], is_interpreted=is_interpreted)

    def _discard(self) -> None:
        sessions, self._sessions = self._sessions, {}
        server, self._server = self._server, None
        for session in sessions.values():
            with contextlib.suppress(*TROUBLE):
                if server is None or server.is_alive:
                    session.stop()
                else:
                    cast(Any, session).client.close()
        if server is not None:
            server.stop()


def _answers(session: SparkSession) -> bool:
    """Whether the server still knows it: a server that was restarted does not, and one closes what nobody asked for a
    while (Spark 4.1: an hour). A setting is asked for each time; `version` only once (pyspark 4.1 keeps it)."""
    try:
        return session.conf.get(_TIME_ZONE) is not None
    except TROUBLE:
        return False


def open_session(
    url: str, retries: int = _RETRIES["embedded"], listing_tasks: int = _LISTING_TASKS, *, is_interpreted: bool = False
) -> SparkSession:
    """A new session, in UTC, that is to be stopped and never collected. Raises EvidenceFailed.

    `is_interpreted`: no query is compiled; a server that does not let this be set answers as well, only later."""
    try:
        session: SparkSession = SparkSession.builder.remote(url).create()
        _OPENED.append(session)
        cast(Any, session).client.set_retry_policies([DefaultPolicy(max_retries=retries, max_backoff=2000)])
        session.conf.set(_TIME_ZONE, "UTC")
        session.conf.set("spark.sql.caseSensitive", _BY_THEIR_VERY_NAMES)
        session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", str(listing_tasks))
        session.conf.set("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", _GROUPS_IN_MEMORY)
        session.conf.set("spark.sql.mapKeyDedupPolicy", _SAID_TWICE)
        with contextlib.suppress(PySparkException):
            for name, value in _INTERPRETED.items() if is_interpreted else ():
                session.conf.set(name, value)
    except TROUBLE as error:
        raise EvidenceFailed(
            "Spark refused the session.",
            f"Expected a Spark Connect server 4.1 at {bare(url)}; found {str(error).splitlines()[0]}.",
            "Check the server's version and its token, then run it again.",
        ) from error
    return session


def _reachable(url: str) -> None:
    parts = urlsplit(url)
    host, port = parts.hostname or "localhost", parts.port or _DEFAULT_PORT
    if not listens(host, port, _PATIENCE_S):
        raise EvidenceFailed(
            "Spark cannot be reached.",
            f"Expected a Spark Connect server at {bare(url)}; nothing answered within {_PATIENCE_S:.0f} s.",
            "Start it or correct SPARK_REMOTE, then run it again. Without SPARK_REMOTE, Waterline uses the "
            "embedded Spark.",
        )


def bare(url: str) -> str:
    """The address without parameters, which may carry a token."""
    return url.split("/;", 1)[0].split(";", 1)[0]
