"""Evidence on Spark: embedded or remote, one warm session, each run tagged, cancellable and shown."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any

from pyspark.sql import SparkSession

from bot.adapters.spark_file_trouble import damaged, file_trouble, is_reading
from bot.adapters.spark_run import SparkRun
from bot.adapters.spark_server import EmbeddedSpark
from bot.adapters.spark_session import TROUBLE, SparkConnection
from bot.domain.errors import EngineEnded, EvidenceCancelled, EvidenceFailed, FileNotOpened
from bot.domain.evidence import Answer, Ask, Progress, Task
from bot.evidence import TaskModule
from spark_tasks._damaged import first_damaged

_log = logging.getLogger(__name__)
_MESSAGE_LENGTH = 300


class SparkEvidenceRunner:
    """The port `EvidenceRunner`. Safe to use from several threads; tasks run beside each other."""

    def __init__(
        self,
        modules: Mapping[str, TaskModule],
        where: EmbeddedSpark | str,
        *,
        time_limit: timedelta = timedelta(minutes=10),
    ) -> None:
        """`where`: how to start the embedded server, or the `sc://host:port` of one that runs.

        `time_limit` is for one task. Nothing is started before the first use.
        """
        self._modules = modules
        self._connection = SparkConnection(where)
        self._time_limit = time_limit
        self._runs: dict[str, SparkRun] = {}
        self._lock = threading.Lock()
        self._here = threading.local()
        self._heard: dict[bool, SparkSession] = {}

    def warm(self) -> None:
        """Start Spark and have it answer once in each session. Raises EvidenceFailed."""
        try:
            for is_interpreted in (False, True):
                self._session(is_interpreted=is_interpreted).range(1).count()
        except TROUBLE as error:
            raise self._translated(error, "the first query") from error

    def run(self, task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        """See the port. A run never outlives its time limit."""
        one = SparkRun(tag, on_progress)
        with self._lock:
            self._runs[tag] = one
        try:
            session = self._session(lambda: one.was_cancelled, is_interpreted=task.reads != "rows")
            watcher = threading.Thread(
                target=one.watch, args=(session, self._time_limit.total_seconds()), name=f"watch-{tag}", daemon=True
            )
            watcher.start()
            try:
                answer = self._answer(session, task, ask, one)
            finally:
                one.end()
                watcher.join()
        finally:
            with self._lock:
                del self._runs[tag]
        if one.was_cancelled:
            raise _cancelled(task)
        return answer, one.bytes_read

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
        """Of the embedded server; None when it does not run."""
        return self._connection.pid

    def _session(
        self, is_given_up: Callable[[], bool] = lambda: False, *, is_interpreted: bool = False
    ) -> SparkSession:
        session = self._connection.session(is_given_up, is_interpreted=is_interpreted)
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
                raise self._too_slow(task) from error
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
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:_MESSAGE_LENGTH]
        if self._connection.is_lost():
            return EngineEnded(
                f"Spark went away during {what}.",
                f"Expected an answer; the server has ended ({first}).",
                "Ask again: a new session is started by itself. If it happens again, give Spark more memory.",
            )
        return EvidenceFailed(
            f"Spark could not finish {what}.",
            f"Expected an answer; found: {first}",
            "Ask again. If it fails again, run unreadable_files, and missing_files for files of older commits.",
        )

    def _too_slow(self, task: Task) -> EvidenceFailed:
        return EvidenceFailed(
            f"The evidence task {task.name} was ended.",
            f"Expected an answer within {self._time_limit}; it was still running.",
            "Choose a shorter window, or raise the time limit.",
        )


def _cancelled(task: Task) -> EvidenceCancelled:
    return EvidenceCancelled(
        f"The evidence task {task.name} was cancelled.", "A responder asked for it.", "Run it again when it is needed."
    )
