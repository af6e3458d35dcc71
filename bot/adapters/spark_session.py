"""One Spark Connect session: made when first needed, kept warm, made anew when its server is gone."""

import contextlib
import threading
import warnings
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import urlsplit

import grpc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.retries import DefaultPolicy

from bot.adapters.spark_server import EmbeddedSpark, SparkServer, listens
from bot.domain.errors import EvidenceFailed

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
_OPENED: list[SparkSession] = []
"""Sessions that were opened, so that none is ever collected. A session that is (pyspark 4.1) waits, in whichever thread
collects it and under a lock that every query needs, until what all sessions have to release is released. Where that
thread is the one by which gRPC signs requests, nothing goes on for ever (seen once in some dozen test runs)."""


class SparkConnection:
    """The way to Spark: an embedded server, or a remote one by its `sc://…` address."""

    def __init__(self, where: EmbeddedSpark | str) -> None:
        self._where = where
        self._lock = threading.Lock()
        self._server: SparkServer | None = None
        self._session: SparkSession | None = None
        self._is_closed = False

    def session(self, is_given_up: Callable[[], bool] = lambda: False) -> SparkSession:
        """The session, started if there is none. Raises EvidenceFailed, and EvidenceCancelled for a start that is
        given up."""
        with self._lock:
            if self._is_closed:
                raise EvidenceFailed("Spark is stopped.", "Waterline is shutting down.", "Start it and ask again.")
            if self._session is not None and not self._is_gone():
                return self._session
            self._discard()
            if isinstance(self._where, EmbeddedSpark):
                self._server = SparkServer(self._where, is_given_up)
                self._session = open_session(self._server.url, _RETRIES["embedded"], self._where.cores)
            else:
                _reachable(self._where)
                self._session = open_session(self._where, _RETRIES["remote"], _LISTING_TASKS)
            return self._session

    def beside(self, session_id: str) -> SparkSession:
        """A session of its own on the same server, under this id (a UUID): the same id finds the same session, also
        after a restart of the bot. The caller stops it. Raises EvidenceFailed."""
        self.session()
        with self._lock:
            server = self._server
            url = self._where if isinstance(self._where, str) else server.url if server is not None else ""
            kind = "remote" if server is None else "embedded"
            named = f"{url.rstrip('/')}{'' if ';' in url else '/'};session_id={session_id}"
            cores = self._where.cores if isinstance(self._where, EmbeddedSpark) else _LISTING_TASKS
            return open_session(named, _RETRIES[kind], cores)

    @property
    def pid(self) -> int | None:
        """Of the embedded server's JVM; None when there is none."""
        return self._server.pid if self._server is not None else None

    def is_lost(self) -> bool:
        """Whether the server went away under a query; then the session is discarded."""
        with self._lock:
            lost = self._is_gone()
            if lost:
                self._discard()
            return lost

    def close(self) -> None:
        """Release the session and stop an embedded server. Safe to repeat."""
        with self._lock:
            self._is_closed = True
            self._discard()

    def _is_gone(self) -> bool:
        if self._session is None:
            return True
        if self._server is not None:
            return not self._server.is_alive
        try:
            return not self._session.version
        except TROUBLE:
            return True

    def _discard(self) -> None:
        session, self._session = self._session, None
        server, self._server = self._server, None
        if session is not None:
            with contextlib.suppress(*TROUBLE):
                if server is None or server.is_alive:
                    session.stop()
                else:
                    cast(Any, session).client.close()
        if server is not None:
            server.stop()


def open_session(url: str, retries: int = _RETRIES["embedded"], listing_tasks: int = _LISTING_TASKS) -> SparkSession:
    """A new session, in UTC, that is to be stopped and never collected. Raises EvidenceFailed."""
    try:
        session: SparkSession = SparkSession.builder.remote(url).create()
        _OPENED.append(session)
        cast(Any, session).client.set_retry_policies([DefaultPolicy(max_retries=retries, max_backoff=2000)])
        session.conf.set("spark.sql.session.timeZone", "UTC")
        session.conf.set("spark.sql.sources.parallelPartitionDiscovery.parallelism", str(listing_tasks))
        session.conf.set("spark.sql.objectHashAggregate.sortBased.fallbackThreshold", _GROUPS_IN_MEMORY)
    except TROUBLE as error:
        raise EvidenceFailed(
            "Spark refused the session.",
            f"Expected a Spark Connect server 4.1 at {bare(url)}; found {str(error).splitlines()[0]}.",
            "Check the server's version and its token, then ask again.",
        ) from error
    return session


def _reachable(url: str) -> None:
    parts = urlsplit(url)
    host, port = parts.hostname or "localhost", parts.port or _DEFAULT_PORT
    if not listens(host, port, _PATIENCE_S):
        raise EvidenceFailed(
            "Spark cannot be reached.",
            f"Expected a Spark Connect server at {bare(url)}; nothing answered within {_PATIENCE_S:.0f} s.",
            "Start it or correct SPARK_REMOTE, then ask again; without SPARK_REMOTE the embedded Spark is used.",
        )


def bare(url: str) -> str:
    """The address without parameters, which may carry a token."""
    return url.split("/;", 1)[0].split(";", 1)[0]
