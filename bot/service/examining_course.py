"""One examination while it runs: how far it is, in words, and the way to end it. Safe from several threads."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import humanize

from bot.domain.errors import EvidenceCancelled
from bot.domain.evidence import Progress
from bot.domain.ids import EvidenceId


def _unheard() -> None:
    """For callers who only want the answer."""


class Course:
    """Told by the examiner; heard and ended by whoever asked."""

    def __init__(self, heard: Callable[[], None] = _unheard) -> None:
        """`heard` is called in the thread of a task whenever `words` may have changed."""
        self._heard = heard
        self._lock = threading.Lock()
        self._total = 0
        self._answered = 0
        self._running: dict[EvidenceId, tuple[str, Progress | None]] = {}
        self.is_cancelled = False

    @property
    def words(self) -> str:
        """One line: what is done, and how far what runs is."""
        with self._lock:
            if not self._total:
                return "Looking at the table, its job, its storage and its readers"
            tasks = [_task_in_words(task, progress) for task, progress in self._running.values()]
            answered = f"{self._answered} of {self._total} tasks answered" if self._total > 1 else ""
        return "; ".join(part for part in (answered, *tasks) if part)

    @property
    def running(self) -> tuple[EvidenceId, ...]:
        """The runs that would have to be interrupted now."""
        with self._lock:
            return tuple(self._running)

    def plans(self, tasks: int) -> None:
        """The world was looked at; so many tasks are asked of it."""
        self.raises_if_cancelled("The examination")
        with self._lock:
            self._total = tasks
        self._heard()

    @contextmanager
    def task(self, task: str, run: EvidenceId) -> Iterator[Callable[[Progress], None]]:
        """Around one task; gives what is to be told of its progress. Raises EvidenceCancelled before it begins, where
        the examination was ended."""
        self.raises_if_cancelled(f"The evidence task {task}")
        self._tell(task, run, None)
        try:
            yield lambda progress: self._tell(task, run, progress)
        finally:
            with self._lock:
                self._running.pop(run)
                self._answered += 1
            self._heard()

    def cancel(self) -> None:
        """No further task begins. What runs is interrupted by the examiner."""
        self.is_cancelled = True

    def raises_if_cancelled(self, what: str) -> None:
        """Raises EvidenceCancelled once `cancel` was called."""
        if self.is_cancelled:
            raise EvidenceCancelled(
                f"{what} was cancelled.", "The requester cancelled it.", "Ask again when you need it."
            )

    def _tell(self, task: str, run: EvidenceId, progress: Progress | None) -> None:
        with self._lock:
            self._running[run] = (task, progress)
        self._heard()


def _task_in_words(task: str, progress: Progress | None) -> str:
    if progress is None:
        return f"{task} is starting"
    read = humanize.naturalsize(progress.bytes_read)
    return f"{task}: {progress.tasks_done} of {progress.tasks_total} Spark tasks, {read} read"
