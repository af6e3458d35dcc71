"""One table, looked at once, without an incident: every evidence that diagnosis needs, and what it amounts to.

One examination while it runs: how far it is, in words, and the way to end it. Safe from several threads.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import humanize
from ulid import ULID

from bot.diagnosis._support.examine import ModeModule, diagnose
from bot.evidence import Collector
from bot.history.case import Case
from bot.history.suspicion import propose_window
from bot.incident.diagnosis import Diagnosis
from bot.observation.errors import EvidenceCancelled, EvidenceFailed, FileDamaged, FileNotOpened
from bot.observation.evidence import Ask, Evidence, Progress, Verdict
from bot.observation.flink import JobRun
from bot.observation.ids import EvidenceId, TableName
from bot.observation.looked import NotSeen, Seen
from bot.observation.record import Record
from bot.observation.table import TableState, Window
from bot.service.diagnosing import build_case, tasks_needed
from bot.service.observing import Observer


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


ChooseWindow = Callable[[TableState], Window]


class Examination(Record):
    """What was seen and what it amounts to; `case` holds all evidence."""

    case: Case
    diagnosis: Diagnosis


@dataclass(eq=False)
class Examiner:
    """Asks every task over one and the same look at the world, so that the answers fit together."""

    _observer: Observer
    _collector: Collector
    _modes: Mapping[str, ModeModule]

    @property
    def codes(self) -> tuple[str, ...]:
        """Of every failure mode that it knows."""
        return tuple(self._modes)

    def collect(
        self, table: TableName, task: str, choose: ChooseWindow | None = None, *, course: Course | None = None
    ) -> Evidence:
        """One task; `course` hears how far it is. Raises Refused (unknown task or window), UnknownTable, CouldNotLook,
        EvidenceFailed, EvidenceCancelled."""
        self._collector.task(task)
        course = course or Course()
        ask = self._ask(table, choose)
        course.plans(1)
        return self._run(task, ask, course)

    def examine(
        self,
        table: TableName,
        choose: ChooseWindow | None = None,
        *,
        without_rows: bool = False,
        course: Course | None = None,
    ) -> Examination:
        """All of it, two tasks at a time, then what a mode asks for because that left a doubt. A task that fails makes
        its modes say what is missing, no more.

        `without_rows`: only what reads no rows and lists no folder, as a first look does; and no lineage, which no
        mode asks for and whose events are many. `course` hears how far it is.
        Raises Refused (window), UnknownTable, CouldNotLook (the table itself), EvidenceCancelled.
        """
        course = course or Course()
        ask = self._ask(table, choose, with_readers=not without_rows)
        evidence = self._answers(self._affordable(tasks_needed(self._modes), (), without_rows), (), ask, course)
        while True:
            case = build_case(self._observer.setup(table), ask.observation, ask.window, evidence)
            diagnosis = diagnose(case, self._modes)
            further = self._affordable(diagnosis.asks, evidence, without_rows)
            if not further:
                return Examination(case=case, diagnosis=diagnosis)
            evidence = self._answers(further, evidence, ask, course)

    def _answers(
        self, tasks: Sequence[str], known: tuple[Evidence, ...], ask: Ask, course: Course
    ) -> tuple[Evidence, ...]:
        """What is known, and the answers of these tasks, two at a time."""
        course.plans(len(known) + len(tasks))
        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="examine") as pool:
            return (*known, *pool.map(lambda task: self._answer(task, ask, course), tasks))

    def _affordable(self, tasks: Sequence[str], known: Sequence[Evidence], without_rows: bool) -> tuple[str, ...]:
        """Those that have not run yet; without rows only what reads none."""
        asked = {each.task for each in known}
        reads = {task: self._collector.task(task).reads for task in tasks if task not in asked}
        return tuple(task for task, read in reads.items() if not without_rows or read in {"nothing", "metadata"})

    def cancel(self, course: Course) -> None:
        """End this examination: no further task begins, and what runs is interrupted. Call it until it has ended: a
        task that is just beginning is not known to Spark yet."""
        course.cancel()
        for run in course.running:
            self._collector.cancel(run)

    def again(self, case: Case) -> Diagnosis:
        """The same case, put to the modes of this version."""
        return diagnose(case, self._modes)

    def _ask(self, table: TableName, choose: ChooseWindow | None, *, with_readers: bool = True) -> Ask:
        def window_of(state: TableState, jobs: Seen[JobRun] | NotSeen) -> Window:
            return choose(state) if choose else propose_window(state, jobs).window

        observation = self._observer.observe(table, window=window_of, with_readers=with_readers)
        state = observation.table
        window = window_of(state, observation.jobs)
        return Ask(
            observation=observation,
            window=window,
            contract=self._observer.setup(table).contract,
            trusted=state.waterline,
            replay=self._observer.setup(table).replay,
            copies=self._observer.setup(table).copies,
        )

    def _run(self, task: str, ask: Ask, course: Course) -> Evidence:
        run = EvidenceId(str(ULID()))
        with course.task(task, run) as progressed:
            return self._collector.collect(task, ask, run=run, on_progress=progressed)

    def _answer(self, task: str, ask: Ask, course: Course) -> Evidence:
        try:
            return self._run(task, ask, course)
        except EvidenceFailed as error:
            declared, state = self._collector.task(task), ask.observation.table
            path = error.path if isinstance(error, FileNotOpened) else None
            missing = NotSeen(
                source=f"evidence {task}",
                reason=error.happened,
                remedy=f"{error.found} {error.remedy}",
                lost_file=path if not isinstance(error, FileDamaged) else None,
                damaged_file=path if isinstance(error, FileDamaged) else None,
            )
            return Evidence(
                verdict=Verdict.INCONCLUSIVE,
                headline=f"{error.happened} {error.found}".strip(),
                could_not_look=(missing,),
                id=EvidenceId(str(ULID())),
                task=task,
                task_version=declared.version,
                question=declared.question,
                metadata_location=state.metadata_location,
                head=state.head,
                window=ask.window,
                at=state.read_at,
                took_ms=0,
                bytes_read=0,
            )
