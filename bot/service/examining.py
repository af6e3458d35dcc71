"""One table, looked at once, without an incident: every evidence that diagnosis needs, and what it amounts to."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ulid import ULID

from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case, Diagnosis
from bot.domain.errors import EvidenceFailed, FileDamaged, FileNotOpened
from bot.domain.evidence import Ask, Evidence, Verdict
from bot.domain.flink import JobRun
from bot.domain.ids import EvidenceId, TableName
from bot.domain.looked import NotSeen, Seen
from bot.domain.record import Record
from bot.domain.suspicion import WATERLINE, propose_window
from bot.domain.table import TableState, Window
from bot.evidence import Collector
from bot.service.diagnosing import build_case, tasks_needed
from bot.service.examining_course import Course
from bot.service.observing import Observer

ChooseWindow = Callable[[TableState], Window]


class Examination(Record):
    """What was seen and what it amounts to; `case` holds all evidence."""

    case: Case
    diagnosis: Diagnosis


class Examiner:
    """Asks every task over one and the same look at the world, so that the answers fit together."""

    def __init__(self, observer: Observer, collector: Collector, modes: Mapping[str, ModeModule]) -> None:
        self._observer = observer
        self._collector = collector
        self._modes = modes

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
            trusted=state.ref(WATERLINE),
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
