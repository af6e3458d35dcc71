"""One running task: its progress as Spark tells it, and the way to interrupt it."""

import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

from bot.adapters.spark_session import TROUBLE
from bot.domain.evidence import Progress

_AGAIN_AFTER_S = 0.3


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
        """Ask for the end; returns at once."""
        self.was_cancelled = True
        self._stop.set()

    def end(self) -> None:
        """The task has returned or raised."""
        self._ended.set()
        self._stop.set()

    def watch(self, session: SparkSession, limit_s: float) -> None:
        """Body of the watching thread: waits for a cancellation or the time limit, then interrupts until the
        task ends, because an interrupt between two queries of a task hits nothing."""
        if not self._stop.wait(limit_s):
            self.ran_out_of_time = True
        while not self._ended.is_set():
            with suppress(*TROUBLE):  # the server may be away for a moment, and the task goes on with it
                session.interruptTag(self.tag)
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
