"""One table, looked at once, without an incident: every evidence that diagnosis needs, and what it amounts to."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from ulid import ULID

from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case, Diagnosis
from bot.domain.errors import EvidenceFailed, FileNotOpened
from bot.domain.evidence import Ask, Evidence, Verdict
from bot.domain.ids import EvidenceId, TableName
from bot.domain.looked import NotSeen
from bot.domain.record import Record
from bot.domain.suspicion import WATERLINE, propose_window
from bot.domain.table import TableState, Window
from bot.evidence import Collector
from bot.service.diagnosing import build_case, tasks_needed
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

    def collect(self, table: TableName, task: str, choose: ChooseWindow | None = None) -> Evidence:
        """One task. Raises Refused (unknown task or window), UnknownTable, CouldNotLook, EvidenceFailed."""
        self._collector.task(task)
        return self._run(task, self._ask(table, choose))

    def examine(
        self, table: TableName, choose: ChooseWindow | None = None, *, without_rows: bool = False
    ) -> Examination:
        """All of it, two tasks at a time. A task that fails makes its modes say what is missing, no more.

        `without_rows`: only what reads no rows and lists no folder, as a first look does.
        Raises Refused (window), UnknownTable, CouldNotLook (the table itself).
        """
        tasks = tasks_needed(self._modes)
        if without_rows:
            tasks = tuple(task for task in tasks if self._collector.task(task).reads in {"nothing", "metadata"})
        ask = self._ask(table, choose)
        with ThreadPoolExecutor(max_workers=2, thread_name_prefix="examine") as pool:
            evidence = tuple(pool.map(lambda task: self._answer(task, ask), tasks))
        case = build_case(self._observer.setup(table), ask.observation, ask.window, evidence)
        return Examination(case=case, diagnosis=diagnose(case, self._modes))

    def again(self, case: Case) -> Diagnosis:
        """The same case, put to the modes of this version."""
        return diagnose(case, self._modes)

    def _ask(self, table: TableName, choose: ChooseWindow | None) -> Ask:
        observation = self._observer.observe(table)
        state = observation.table
        window = choose(state) if choose else propose_window(state, observation.jobs).window
        return Ask(
            observation=observation,
            window=window,
            contract=self._observer.setup(table).contract,
            trusted=state.ref(WATERLINE),
            replay=self._observer.setup(table).replay,
        )

    def _run(self, task: str, ask: Ask) -> Evidence:
        return self._collector.collect(task, ask, run=EvidenceId(str(ULID())))

    def _answer(self, task: str, ask: Ask) -> Evidence:
        try:
            return self._run(task, ask)
        except EvidenceFailed as error:
            declared, state = self._collector.task(task), ask.observation.table
            missing = NotSeen(
                source=f"evidence {task}",
                reason=error.happened,
                remedy=f"{error.found} {error.remedy}",
                lost_file=error.path if isinstance(error, FileNotOpened) else None,
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
