"""Evidence on Spark: each task is tagged, shown while it runs, interrupted when asked, and its failure explained."""

import contextlib
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import unquote

from pyspark.sql import SparkSession

from bot.adapters.spark_server import EmbeddedSpark
from bot.adapters.spark_session import (
    ANSWER_TIMEOUT_S,
    IDLE_AFTER_S,
    TROUBLE,
    SparkConnection,
    first_line,
    silent,
)
from bot.adapters.spark_storage import AccessOf
from bot.evidence import TaskModule
from bot.observation.errors import EngineEnded, EvidenceCancelled, EvidenceFailed, FileDamaged, FileNotOpened
from bot.observation.evidence import Answer, Ask, Progress, Task
from bot.observation.table import TableState
from bot.settings import SparkSettings
from spark_tasks._support.data_files import first_damaged
from spark_tasks._support.kafka import topic_trouble
from spark_tasks._support.manifest_entries import stored_entries
from spark_tasks._support.manifests import newest_of
from spark_tasks._support.reading import has_at_most
from spark_tasks._support.storage import exact

_AGAIN_AFTER_S = 0.3
_FEW_ROWS = 20_000
"""Of a table, up to which to compile a query takes longer than to interpret it. Measured on two cores, in CPU seconds
of a warm JVM: over 400 rows `duplicate_rows` took 4.1 and takes 3.3, `replayed_rows` 3.5 and 1.9, every task in its
first run 54 and 43; over 100,000 rows the four that read rows take 17 compiled, 21 interpreted."""


class SparkRun:
    """Counts over all queries of one task; interrupts whichever of them is running."""

    def __init__(self, tag: str, on_progress: Callable[[Progress], None]) -> None:
        self.tag = tag
        self.was_cancelled = False
        self.ran_out_of_time = False
        self._on_progress = on_progress
        self._stages: dict[tuple[str, int], tuple[int, int, int]] = {}
        self._stop = threading.Event()
        self._ended = threading.Event()

    @property
    def bytes_read(self) -> int:
        """As the stages reported so far: at least this much, a short query may end before its last report."""
        return sum(read for _, _, read in self._stages.values())

    def cancel(self) -> None:
        self.was_cancelled = True
        self._stop.set()

    def end(self) -> None:
        self._ended.set()
        self._stop.set()

    def watch(self, session: SparkSession, limit_s: float, give_up: Callable[[SparkSession], None]) -> None:
        """Body of the watching thread: waits for a cancellation or the time limit, then interrupts until the
        task ends, because an interrupt between two queries of a task hits nothing."""
        if not self._stop.wait(limit_s):
            self.ran_out_of_time = True
        while not self._ended.is_set():
            try:
                session.interruptTag(self.tag)
            except TROUBLE as error:  # the server may be away for a moment, and the task goes on with it
                if "DEADLINE_EXCEEDED" in str(error):
                    give_up(session)
            self._ended.wait(_AGAIN_AFTER_S)

    def progressed(self, stages: Iterable[Any], operation_id: str | None) -> None:
        """One report of Spark's about one query."""
        for stage in stages:
            self._stages[operation_id or "", stage.stage_id] = (
                stage.num_completed_tasks,
                stage.num_tasks,
                stage.num_bytes_read,
            )
        if self._stages:
            told = list(self._stages.values())
            self._on_progress(
                Progress(
                    tasks_done=sum(done for done, _, _ in told),
                    tasks_total=sum(total for _, total, _ in told),
                    bytes_read=self.bytes_read,
                )
            )


_PATH = r"((?:[a-z0-9]+:)?/[^\s)]+)"
_LOST = re.compile(rf"iceberg\.exceptions\.NotFoundException: [^\n]*?{_PATH}")
"""`Failed to open input stream for file: …`."""
_DAMAGED = re.compile(
    rf"iceberg\.exceptions\.RuntimeIOException: Failed to (?:open|fetch|read)[^\n:]*: {_PATH}"
    rf"|{_PATH} is not a Parquet file"
)
"""Avro and ORC files, short Parquet files, and Parquet files without their end."""
_OF_SPARK = re.compile(r"\[FAILED_READ_FILE\.(\w+)\] Encountered error while reading file (\S+?)\.(?:\s|$)")
"""What Spark's own readers say, with the address of the file in the form of a URL."""
_READERS = re.compile(
    r"\tat org\.apache\.iceberg\.(?:parquet|orc|avro|arrow|deletes|shaded\.org\.apache\.(?:parquet|orc)|"
    r"data\.BaseDeleteLoader)\."
)
_ELSEWHERE = re.compile(
    r"java\.net\.|javax\.net\.|Timeout|Denied|AccessControl|Forbidden|\b(?:401|403|429|5\d\d)\b[^\n]*(?:Status|status)|"
    r"(?:Status|status)[^\n]*\b(?:401|403|429|5\d\d)\b|SlowDown|OutOfMemory|Interrupted|Killed|cancel"
)
"""The way to the storage, its rights, or Spark itself: that says nothing of the file."""


def file_trouble(error: Exception, what: str) -> FileNotOpened | None:
    """What failed, if the trace names the file for which it did; None for any other trouble."""
    lost, read = _LOST.search(str(error)), _OF_SPARK.search(str(error))
    gone = lost[1] if lost else unquote(read[2]) if read and read[1] == "FILE_NOT_EXIST" else None
    if gone is not None:
        return FileNotOpened(
            gone,
            f"A file that the table references is not on storage, so {what} could not be finished.",
            f"Expected {gone}; storage has no such file.",
            "Ask whether it can be restored, and what changed storage lately: expiry, orphan cleanup, a person.",
        )
    if _ELSEWHERE.search(str(error)):
        return None
    if read is not None:
        return damaged(unquote(read[2]), what)
    found = _DAMAGED.search(str(error))
    return damaged(found[1] or found[2], what) if found is not None else None


def is_reading(error: Exception) -> bool:
    """Whether Spark failed while it decoded a file that the trace does not name."""
    return _READERS.search(str(error)) is not None and _ELSEWHERE.search(str(error)) is None


def damaged(path: str, what: str) -> FileDamaged:
    """A file that is there and cannot be read to its end."""
    return FileDamaged(
        path,
        f"A file that the table references is damaged, so {what} could not be finished.",
        f"Expected to read {path}; it is on storage, but Spark cannot read it to its end.",
        "Ask whether the storage keeps an older version of it. Then diagnose: F9 says what to do.",
    )


_CAUSES = (
    (
        r"No FileSystem for scheme|ClassNotFoundException: Class [\w.]+FileSystem|UnsupportedFileSystem",
        "Spark has no file system for this storage",
        "Name the warehouse in `catalog.properties`. To a Spark Connect server, add hadoop-aws and its settings.",
    ),
    (
        r"ExpiredToken|TokenRefreshRequired|token[^\n]{0,40}expired|expired[^\n]{0,40}token",
        "The keys for the storage have expired",
        "Renew them where they come from: `catalog.properties`, the environment, or the Spark server.",
    ),
    (
        r"NoAuthWithAWSException|Unable to load credentials|No AWS Credentials",
        "Spark has no keys for the storage",
        "Put keys into `catalog.properties`, or into the environment of Waterline or of the Spark server.",
    ),
    (
        r"AccessDenied|AccessControlException|Forbidden|InvalidAccessKeyId|SignatureDoesNotMatch|"
        r"Status(?: Code)?: 40[13]\b",
        "The storage denied Spark access",
        "Check the keys in `catalog.properties` or of the Spark server, and their rights to this path.",
    ),
    (
        r"PKIX path|SSLHandshake|CertificateException|SSLPeerUnverified",
        "Spark does not trust the certificate of the storage",
        "Name a trust store in `spark.conf`: `spark.driver.extraJavaOptions: -Djavax.net.ssl.trustStore=FILE`.",
    ),
    (
        r"NoSuchBucket|Bucket[^\n]{0,80}does not exist",
        "The storage has no such bucket",
        "Check `s3.endpoint` and the region in `catalog.properties`.",
    ),
    (
        r"UnknownHost|Connection refused|ConnectException|SocketTimeout|connect timed out|Unable to execute HTTP",
        "Spark cannot reach the storage",
        "Check `s3.endpoint` in `catalog.properties`, and the network between Spark and the storage.",
    ),
)
"""What the trace says -> what happened, and what to do. None of it says anything of the table's files."""


def storage_trouble(error: Exception, what: str) -> EvidenceFailed | None:
    """The way to the storage, where that is what failed: to run the same or another task again would fail alike."""
    for pattern, happened, remedy in _CAUSES:
        if re.search(pattern, str(error), re.IGNORECASE):
            return EvidenceFailed(
                f"{happened}, so {what} could not be finished.", f"Found: {first_line(error)}", remedy
            )
    return None


_log = logging.getLogger(__name__)


class _Turns:
    """Tasks of one key run beside each other; those of another key wait until none of them runs."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._key: object = None
        self._running = 0

    @contextlib.contextmanager
    def of(self, key: object, is_given_up: Callable[[], bool]) -> Iterator[None]:
        """Around one task. Raises EvidenceCancelled."""
        with self._changed:
            while self._running and self._key != key:
                if is_given_up():
                    raise EvidenceCancelled(
                        "An evidence task was cancelled.", "It was waiting for tasks of another table.", "Run it again."
                    )
                self._changed.wait(_AGAIN_AFTER_S)
            self._key = key
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()


class SparkEvidenceRunner:
    """The port `EvidenceRunner`. Safe to use from several threads; tasks run beside each other."""

    def __init__(
        self,
        modules: Mapping[str, TaskModule],
        where: EmbeddedSpark | SparkSettings | str,
        *,
        time_limit: timedelta = timedelta(minutes=10),
        answer_timeout: timedelta = timedelta(seconds=ANSWER_TIMEOUT_S),
        idle_after: timedelta = timedelta(seconds=IDLE_AFTER_S),
        access_of: AccessOf | None = None,
    ) -> None:
        """`where`: how to start the embedded server, or the `sc://host:port` of one that runs. `access_of`: what the
        catalog vends for a table.

        `time_limit` is for one task, `answer_timeout` for a sign of life of the server. Nothing is started before the
        first use.
        """
        self._modules = modules
        self._connection = SparkConnection(
            where,
            access_of,
            answer_timeout_s=answer_timeout.total_seconds(),
            idle_after_s=idle_after.total_seconds(),
        )
        self._answer_within_s = answer_timeout.total_seconds()
        self._time_limit = time_limit
        self._runs: dict[str, SparkRun] = {}
        self._lock = threading.Lock()
        self._here = threading.local()
        self._heard: dict[bool, SparkSession] = {}
        self._turns = _Turns()

    def warm(self) -> None:
        """Start Spark and have it answer once in each session. Raises EvidenceFailed."""
        try:
            for is_interpreted in (False, True):
                self._session(is_interpreted=is_interpreted).range(1).count()
        except TROUBLE as error:
            raise self._translated(error, "the first query") from error

    def probe(self, table: TableState) -> str:
        session = self._session(is_interpreted=True, table=table)
        read = ["metadata"]
        what = f"the look at the files of {table.name}"
        try:
            _ = session.read.format("iceberg").load(table.metadata_location).schema
            if table.head is not None:
                manifests = newest_of(session, table.by_id[table.head], 1)
                read += ["manifest list"]
                live = stored_entries(session, manifests).where("status < 2").limit(1).collect() if manifests else []
                read += ["manifest"] if manifests else []
                for entry in live:
                    file = entry["data_file"]
                    form = {"puffin": "binaryFile"}.get(file["file_format"].lower(), file["file_format"].lower())
                    session.read.format(form).load(exact(file["file_path"])).limit(1).count()
                    read += ["data file"]
        except TROUBLE as error:
            raise file_trouble(error, what) or self._translated(error, what) from error
        return f"reads a {', a '.join(read)}"

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """See the port. A run never outlives its time limit. What reads nothing starts no Spark."""
        if task.reads == "nothing":
            return self._modules[task.name].answer(None, ask), 0
        one = SparkRun(tag, on_progress)
        with self._lock:
            self._runs[tag] = one
        try:
            with self._turns.of(self._connection.lends_for(ask.observation.table), lambda: one.was_cancelled):
                return self._run(task, ask, one), one.bytes_read
        finally:
            with self._lock:
                del self._runs[tag]

    def _run(self, task: Task, ask: Ask, one: SparkRun) -> Answer:
        table = ask.observation.table
        session = self._session(
            lambda: one.was_cancelled,
            is_interpreted=task.reads != "rows" or has_at_most(table, _FEW_ROWS, table.head),
            table=table,
        )
        watcher = threading.Thread(
            target=one.watch,
            args=(session, self._time_limit.total_seconds(), self._connection.give_up),
            name=f"watch-{one.tag}",
            daemon=True,
        )
        watcher.start()
        try:
            answer = self._answer(session, task, ask, one)
        finally:
            one.end()
            watcher.join()
        if one.was_cancelled:
            raise _cancelled(task)
        return answer

    def cancel(self, tag: str) -> bool:
        """See the port. The run ends within about a second, by EvidenceCancelled in its own thread."""
        with self._lock:
            one = self._runs.get(tag)
        if one is None:
            return False
        one.cancel()
        return True

    def close(self) -> None:
        """Stop what was started. A remote server goes on; only our session ends."""
        with self._lock:
            for one in self._runs.values():
                one.cancel()
        self._connection.close()

    @property
    def connection(self) -> SparkConnection:
        """For what writes: sessions of its own on the same server."""
        return self._connection

    @property
    def pid(self) -> int | None:
        return self._connection.pid

    def _session(
        self,
        is_given_up: Callable[[], bool] = lambda: False,
        *,
        is_interpreted: bool = False,
        table: TableState | None = None,
    ) -> SparkSession:
        session = self._connection.session(is_given_up, is_interpreted=is_interpreted, table=table)
        with self._lock:
            if session is not self._heard.get(is_interpreted):
                session.registerProgressHandler(self._on_progress)
                self._heard[is_interpreted] = session
        return session

    def _answer(self, session: SparkSession, task: Task, ask: Ask, one: SparkRun) -> Answer:
        self._here.run = one
        session.addTag(one.tag)
        try:
            return self._modules[task.name].answer(session, ask)
        except TROUBLE as error:
            if one.was_cancelled:
                raise _cancelled(task) from error
            if one.ran_out_of_time:
                raise EvidenceFailed(
                    f"The evidence task {task.name} was stopped.",
                    f"Expected an answer within {self._time_limit}; it was still running.",
                    "Choose a shorter window, or raise the time limit.",
                ) from error
            what = f"the evidence task {task.name}"
            raise self._of_a_file(session, ask, error, what) or self._translated(error, what) from error
        finally:
            session.removeTag(one.tag)
            self._here.run = None

    def _on_progress(self, *, stages: Iterable[Any] | None, operation_id: str | None, **_more: Any) -> None:
        """Called by Spark's client in the thread whose query it is; what it raises would break that query."""
        one: SparkRun | None = getattr(self._here, "run", None)
        if one is None:
            return
        try:
            one.progressed(stages or (), operation_id)
        except Exception:  # noqa: BLE001 - a listener's fault must not end the evidence it listens to
            _log.exception("A listener to evidence progress failed; the run goes on.")

    def _of_a_file(self, session: SparkSession, ask: Ask, error: Exception, what: str) -> FileNotOpened | None:
        """What failed for one file, with its name; where Spark does not say it, the window's files are read for it."""
        named = file_trouble(error, what)
        if named is None and is_reading(error):
            with contextlib.suppress(*TROUBLE, EvidenceFailed):
                path = first_damaged(session, ask)
                named = damaged(path, what) if path is not None else None
        return named

    def _translated(self, error: Exception, what: str) -> EvidenceFailed:
        first = first_line(error)
        if self._connection.was_silent():
            self._connection.is_lost()
            why = silent(self._answer_within_s)
            return EngineEnded(f"Spark stopped answering during {what}.", why.found, why.remedy)
        if self._connection.is_lost():
            return EngineEnded(
                f"Spark ended during {what}.",
                f"Expected an answer; the server has ended ({first}).",
                "Run it again: Waterline starts a new session. If it happens again, give Spark more memory.",
            )
        known = topic_trouble(error) or storage_trouble(error, what)
        return known or EvidenceFailed(
            f"Spark could not finish {what}.",
            f"Expected an answer; found: {first}",
            "Run it again. If it fails again, run unreadable_files, and missing_files for files of older commits.",
        )


def _cancelled(task: Task) -> EvidenceCancelled:
    return EvidenceCancelled(
        f"The evidence task {task.name} was cancelled.", "A responder cancelled it.", "Run it again when you need it."
    )
