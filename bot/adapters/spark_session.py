"""Spark Connect sessions: made when first needed, kept warm, made anew when their server is gone.

No call waits for ever: not for a server that is frozen, nor on a connection that broke without a word.
"""

import contextlib
import math
import os
import re
import subprocess
import threading
import time
import warnings
from collections import namedtuple
from collections.abc import Callable, Mapping
from copy import copy
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

import grpc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.connect.client import DefaultChannelBuilder
from pyspark.sql.connect.client.retries import DefaultPolicy
from pyspark.sql.connect.session import SparkSession as ConnectSession

from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_storage import AccessOf, Storage, bucket_conf, has_keys, keys_told, storage_of
from bot.kept_process import listens
from bot.observation.errors import EvidenceFailed
from bot.observation.table import TableState
from bot.settings import SparkSettings

warnings.filterwarnings("ignore", message=r"\[RETRIES_EXCEEDED\]")
"""Said beside the error that says it better, and by background clean-up after a server's death."""

TROUBLE = (PySparkException, grpc.RpcError)
"""What Spark Connect's client raises."""


def first_line(error: Exception) -> str:
    """Of what Spark says, at most 300 characters."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


ANSWER_TIMEOUT_S = 30.0
"""How long a server may take to answer a small question."""
IDLE_AFTER_S = 900.0
"""After so long without a question the session is released."""
_GOODBYE_WITHIN_S = 5.0
_TOKEN_WITHIN_S = 20.0
_FAILED_FOR_S = 30.0
"""So long a start that failed is not tried again: twelve tasks of one diagnosis would each wait for it."""
_OF_A_DIAGNOSIS = 60
"""Calls to Spark after which it has loaded what the next diagnosis will need."""
_DEFAULT_PORT = 15002
_PATIENCE_S = 3.0
_CONNECTS_WITHIN_S = 20.0
"""In which gRPC gives up a connection on which the server says nothing; however long an answer may take."""
_LISTING_TASKS = 32
"""Spark makes one task of each path that it looks for, up to 10,000: 5,000 manifests took 24 s on two cores to find,
and take 1.7 s in 32 tasks. The embedded server makes as many as it has hands."""
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


class _Token:
    """The newest bearer token. Safe from several threads."""

    def __init__(self, wanted: SparkSettings, of_address: str | None) -> None:
        self._wanted = wanted
        self._lock = threading.Lock()
        self._said, self._at = of_address, -math.inf

    def __call__(self) -> str | None:
        """Raises EvidenceFailed."""
        try:
            if self._wanted.token_file is not None:
                return self._wanted.token_file.read_text(encoding="utf-8").strip()
            with self._lock:
                age_s = time.monotonic() - self._at
                if self._wanted.token_command and age_s > self._wanted.token_lifetime.total_seconds():
                    done = subprocess.run(
                        self._wanted.token_command, capture_output=True, text=True, timeout=_TOKEN_WITHIN_S, check=True
                    )
                    self._said, self._at = done.stdout.strip(), time.monotonic()
                return self._said
        except (OSError, UnicodeDecodeError, subprocess.SubprocessError) as error:
            raise EvidenceFailed(
                "There is no token for Spark.",
                f"Expected one from `spark.token_file` or `spark.token_command`; found {type(error).__name__}.",
                "Run the command, or look at the file, as Waterline's user.",
            ) from error


class _Details(
    namedtuple("_Details", ("method", "timeout", "metadata", "credentials", "wait_for_ready", "compression")),
    grpc.ClientCallDetails,  # type: ignore[misc]
):
    """As grpc has them itself."""


class _Calls(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):  # type: ignore[misc]
    """All calls of one session: each has the newest token and ends, because a server that answers nothing for
    `within_s` has all of them ended.

    What may take long (a query, its analysis) has no deadline of its own: while one waits, a small question is asked
    beside it, and its answer shows that the server lives.
    """

    def __init__(self, within_s: float, token: Callable[[], str | None]) -> None:
        self.within_s = within_s
        self.is_silent = False
        self.last = time.monotonic()
        """When the last call ended."""
        self._token = token
        self._session: SparkSession | None = None
        self._lock = threading.Lock()
        self._pending = 0
        self.asked = 0
        """Calls that were begun."""
        self._listener: threading.Thread | None = None

    @property
    def is_busy(self) -> bool:
        return self._pending > 0

    def of(self, session: SparkSession) -> None:
        self._session = session

    def intercept_unary_unary(self, continuation: Any, details: Any, request: Any) -> Any:
        is_long = details.method.endswith("/AnalyzePlan")
        self._begin()
        try:
            is_short = details.method.endswith("/Interrupt")
            within_s = min(self.within_s, _GOODBYE_WITHIN_S) if is_short else self.within_s
            return continuation(self._told(details, None if is_long else within_s), request)
        finally:
            self._end()

    def intercept_unary_stream(self, continuation: Any, details: Any, request: Any) -> Any:
        call = continuation(self._told(details, None), request)
        self._begin()
        call.add_done_callback(lambda _call: self._end())
        return call

    def abort(self) -> None:
        """Every call that waits ends with an error, and no other begins."""
        if self._session is not None:
            client = cast(Any, self._session).client
            client._closed = True
            client._channel.close()

    def release(self) -> None:
        """Ends the session on the server too, with what runs there, if it answers soon."""
        self.within_s = min(self.within_s, _GOODBYE_WITHIN_S)
        if self._session is not None and not self.is_silent:
            with contextlib.suppress(*TROUBLE, EvidenceFailed):
                cast(Any, self._session).client.release_session()
        self.abort()

    def _told(self, details: Any, timeout_s: float | None) -> _Details:
        token = self._token()
        metadata = [*(details.metadata or ()), *([("authorization", f"Bearer {token}")] if token else [])]
        return _Details(
            details.method, timeout_s, metadata, details.credentials, details.wait_for_ready, details.compression
        )

    def _begin(self) -> None:
        with self._lock:
            self._pending += 1
            self.asked += 1
            if self._listener is None and self._session is not None:
                self._listener = threading.Thread(target=self._listen, name="spark-listener", daemon=True)
                self._listener.start()

    def _end(self) -> None:
        with self._lock:
            self._pending -= 1
            self.last = time.monotonic()

    def _listen(self) -> None:
        while True:
            time.sleep(self.within_s / 4)
            with self._lock:
                if self._pending == 0:
                    self._listener = None
                    return
            if not self.answers() and self.is_silent:
                self.abort()
                return

    def answers(self) -> bool:
        """Whether the server still knows the session; `is_silent` where it said nothing at all."""
        assert self._session is not None
        try:
            return self._session.conf.get(_TIME_ZONE) is not None
        except TROUBLE as error:
            self.is_silent = "DEADLINE_EXCEEDED" in str(error)
            return False


class _Channel(DefaultChannelBuilder):
    """As PySpark's own, with our calls, and with TLS as the settings say: PySpark has it with every token."""

    def __init__(self, wanted: SparkSettings, url: str, within_s: float) -> None:
        super().__init__(url)
        self._wanted = wanted
        self.calls = _Calls(within_s, _Token(wanted, self.token))
        self.add_interceptor(self.calls)

    def toChannel(self) -> Any:  # noqa: N802 - the name is PySpark's
        wanted, is_here = self._wanted, self.host in {"localhost", "127.0.0.1", "[::1]"}
        has_token = bool(self.token or wanted.token_file or wanted.token_command)
        is_asked = self.use_ssl or wanted.ca_file is not None or (has_token and not is_here)
        if not (is_asked if wanted.tls is None else wanted.tls):
            return _unregistered(self._insecure_channel(self.endpoint))
        ca = wanted.ca_file.read_bytes() if wanted.ca_file is not None else None
        return _unregistered(self._secure_channel(self.endpoint, grpc.ssl_channel_credentials(root_certificates=ca)))


def _unregistered(channel: grpc.Channel) -> grpc.Channel:
    """The same channel, whose stubs register no method: with grpcio 1.85 a registered method that is called after
    another thread has closed the channel ends the whole process with a segmentation fault. Others raise ValueError."""
    for name in ("unary_unary", "unary_stream", "stream_unary", "stream_stream"):
        plain = getattr(channel, name)
        setattr(channel, name, lambda *args, _plain=plain, _registered_method=False, **more: _plain(*args, **more))
    return channel


class _Open(NamedTuple):
    session: SparkSession
    calls: _Calls


class SparkConnection:
    """The way to Spark: an embedded server, or a remote one by its `sc://…` address.

    Two sessions at most: one that compiles its queries, for rows, and one that does not, for metadata. Both are made
    when they are needed, and released, with an embedded server, when nothing was asked for `idle_after_s`."""

    def __init__(
        self,
        where: EmbeddedSpark | SparkSettings | str,
        access_of: AccessOf | None = None,
        *,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
        idle_after_s: float = IDLE_AFTER_S,
    ) -> None:
        """`where`: how to start the embedded server, or the settings or the address of a remote one. `access_of`: what
        the catalog vends for a table; the embedded server reads the table's storage with it."""
        self._where = SparkSettings(remote=where) if isinstance(where, str) else where
        self._access_of = access_of
        self._within_s = answer_timeout_s
        self._idle_after_s = idle_after_s
        self._lock = threading.Lock()
        self._server: SparkServer | None = None
        self._sessions: dict[bool, _Open] = {}
        self._calls: list[_Calls] = []
        self._failed: dict[Storage | None, tuple[float, EvidenceFailed]] = {}
        """Storage of a table -> when Spark did not start for it last, and why: another may need none of its jars."""
        self._closed = threading.Event()
        self._idler: threading.Thread | None = None

    def session(
        self,
        is_given_up: Callable[[], bool] = lambda: False,
        *,
        is_interpreted: bool = False,
        table: TableState | None = None,
    ) -> SparkSession:
        """The session, started if there is none, and able to read the files of `table`. Raises EvidenceFailed, and
        EvidenceCancelled for a start that is given up. What failed a moment ago is not tried again."""
        is_embedded = isinstance(self._where, EmbeddedSpark)
        storage = storage_of(table.metadata_location) if is_embedded and table is not None else None
        with self._lock:
            self._raise_if_closed()
            at, why = self._failed.pop(storage, (-math.inf, None))
            if why is not None and time.monotonic() - at < _FAILED_FOR_S:
                self._failed[storage] = at, why
                raise copy(why)
            try:
                return self._session(lambda: self._closed.is_set() or is_given_up(), is_interpreted, table)
            except EvidenceFailed as error:
                self._failed[storage] = time.monotonic(), error
                raise

    def _session(self, is_given_up: Callable[[], bool], is_interpreted: bool, table: TableState | None) -> SparkSession:
        self._start(is_given_up, table)
        held = self._sessions.get(is_interpreted)
        if held is not None and not held.calls.answers():
            if held.calls.is_silent:
                self._discard()
                if isinstance(self._where, SparkSettings):
                    raise silent(self._within_s)
                self._start(is_given_up, table)
            held = None
        if held is None:
            held = self._sessions[is_interpreted] = self._opened(self._url, is_interpreted=is_interpreted)
            if self._idler is None:
                self._idler = threading.Thread(target=self._release_when_idle, name="spark-idle", daemon=True)
                self._idler.start()
        self._give(held.session, table)
        return held.session

    def beside(self, session_id: str, table: TableState | None = None) -> SparkSession:
        """A session of its own on the same server, under this id (a UUID): the same id finds the same session, also
        after a restart of the bot. The caller stops it. Raises EvidenceFailed."""
        self.session(table=table)
        with self._lock:
            self._raise_if_closed()
            url = self._url
            opened = self._opened(f"{url.rstrip('/')}{'' if ';' in url else '/'};session_id={session_id}")
            self._give(opened.session, table)
            return opened.session

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
        return self._server.pid if self._server is not None else None

    def give_up(self, session: SparkSession) -> None:
        """Ends whatever waits for this session's server, which did not even answer an interrupt."""
        for each in self._sessions.values():
            if each.session is session:
                each.calls.is_silent = True
                each.calls.abort()

    def was_silent(self) -> bool:
        return any(each.calls.is_silent for each in self._sessions.values())

    def is_lost(self) -> bool:
        """Whether the server went away under a query, or closed the session; then what is left of it is discarded."""
        with self._lock:
            held = list(self._sessions.values())
            lost = not held or not self._is_there() or not all(each.calls.answers() for each in held)
            if lost:
                self._discard()
            return lost

    def close(self) -> None:
        """Release the session and stop an embedded server. Safe to repeat. What waits for Spark ends at once."""
        self._closed.set()
        for calls in list(self._calls):
            if isinstance(self._where, SparkSettings):
                calls.release()
            else:
                calls.abort()
        with self._lock:
            self._discard()

    def _raise_if_closed(self) -> None:
        if self._closed.is_set():
            raise EvidenceFailed(
                "Spark is stopped.", "Waterline is shutting down.", "Start Waterline and run it again."
            )

    def _release_when_idle(self) -> None:
        while not self._closed.wait(self._idle_after_s / 4):
            with self._lock:
                last = max((calls.last for calls in self._calls), default=0.0)
                is_idle = not any(calls.is_busy for calls in self._calls)
                if is_idle and time.monotonic() - last > self._idle_after_s:
                    self._discard()
                    self._idler = None
                    return

    @property
    def _url(self) -> str:
        """Of what was reached last."""
        if isinstance(self._where, SparkSettings):
            return self._where.remote or ""
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
        return isinstance(self._where, SparkSettings) or (self._server is not None and self._server.is_alive)

    def _opened(self, url: str, *, is_interpreted: bool = False) -> _Open:
        """A new session, in UTC. `is_interpreted`: no query is compiled; a server that does not let this be set answers
        as well, only later."""
        if isinstance(self._where, EmbeddedSpark):
            slots = self._where.cores if self._server is None else self._server.slots
            retries, listing_tasks, wanted = _RETRIES["embedded"], slots, SparkSettings()
        else:
            retries, listing_tasks, wanted = _RETRIES["remote"], _LISTING_TASKS, self._where
            _reachable(url)
        channel = _Channel(wanted, url, self._within_s)
        self._calls.append(channel.calls)
        try:
            os.environ["SPARK_CONNECT_MODE_ENABLED"] = "1"  # as PySpark does where it is given an address
            session = cast(SparkSession, ConnectSession.builder.channelBuilder(channel).create())
            _OPENED.append(session)
            channel.calls.of(session)
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
            raise _refused(str(error), url, channel.calls.within_s) from error
        except OSError as error:
            raise EvidenceFailed(
                "The certificate authority for Spark cannot be read.",
                f"Expected the file in `spark.ca_file`; found {type(error).__name__}.",
                "Correct the path, or the file's permissions.",
            ) from error
        return _Open(session, channel.calls)

    def _discard(self) -> None:
        self._sessions = {}
        calls, self._calls = self._calls, []
        server, self._server = self._server, None
        for each in calls:
            if server is None:
                each.release()
            else:
                each.abort()
        if server is not None:
            server.stop(was_used=sum(each.asked for each in calls) >= _OF_A_DIAGNOSIS)


def _refused(said: str, url: str, within_s: float) -> EvidenceFailed:
    """Why there is no session, by what grpc said."""
    details = re.search(r'details = "([^"\n]*)"', said)
    first = details[1] if details else said.splitlines()[0]
    found = f"Expected a Spark Connect server 4.1 at {bare(url)}; found: {first}"
    if "DEADLINE_EXCEEDED" in said:
        return silent(within_s)
    if "timed out before receiving SETTINGS frame" in said:
        return silent(min(within_s, _CONNECTS_WITHIN_S))
    if re.search("UNAUTHENTICATED|PERMISSION_DENIED|Invalid authentication token", said):
        remedy = "It may have expired. Renew it in `spark.token_file`, `spark.token_command` or SPARK_REMOTE."
        return EvidenceFailed("Spark refused the token.", found, remedy)
    if re.search("CERTIFICATE_VERIFY|certificate|SSL_ERROR|Handshake", said, re.IGNORECASE):
        remedy = "Name the authority of its certificate in `spark.ca_file`, or set `spark.tls` as the server has it."
        return EvidenceFailed("The certificate of Spark is not trusted, or it has none.", found, remedy)
    return EvidenceFailed("Spark refused the session.", found, "Check the server's version and its token.")


def silent(within_s: float) -> EvidenceFailed:
    """What is said of a server that accepts connections and answers nothing."""
    return EvidenceFailed(
        "Spark does not answer.",
        f"Expected an answer within {within_s:.0f} s; found none. It is frozen or overloaded, or the connection broke.",
        "Look at the Spark server and the network to it, then run it again.",
    )


def _reachable(url: str) -> None:
    parts = urlsplit(url)
    host, port = parts.hostname or "localhost", parts.port or _DEFAULT_PORT
    if not listens(host, port, _PATIENCE_S):
        raise EvidenceFailed(
            "Spark cannot be reached.",
            f"Expected a Spark Connect server at {bare(url)}; nothing answered within {_PATIENCE_S:.0f} s.",
            "Start it, or correct its address: SPARK_REMOTE in the environment, else `spark.remote`. Without either, "
            "Waterline uses the embedded Spark.",
        )


def bare(url: str) -> str:
    """The address without parameters, which may carry a token."""
    return url.split("/;", 1)[0].split(";", 1)[0]
