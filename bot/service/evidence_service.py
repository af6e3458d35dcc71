"""Runs evidence tasks, what the runbook asks for by itself: intent first, answer or end afterwards, cancellable, shown
while running. One under which Spark ended is run again by itself, once."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import structlog
from ulid import ULID

from bot.evidence import Collector
from bot.history.staleness import JUST_NOW, Fresh, is_of, known_runs_of, staleness
from bot.incident.entries import (
    Body,
    EvidenceEnded,
    EvidenceRecorded,
    EvidenceRequested,
    EvidenceRunAgain,
    EvidenceStopped,
    StepDone,
)
from bot.incident.execution import ProposalState
from bot.incident.incident import EvidenceRun, Incident
from bot.incident.journal import WATERLINE
from bot.incident.runbook import EvidenceStep
from bot.observation.errors import EngineEnded, EvidenceCancelled, Refused, WaterlineError
from bot.observation.evidence import Ask, Evidence, Observation, Progress
from bot.observation.ids import EvidenceId, IncidentId, SnapshotId, StepId, TableName
from bot.observation.table import Window
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.observing import Observer
from bot.service.runbook_steps import steps_ahead
from bot.service.spans import in_this_span

log = structlog.get_logger(__name__)
_CHEAPEST_FIRST = ("nothing", "metadata", "listing", "rows")
_AT_A_TIME = 2
"""Tasks that one incident has run at once, and that run at once at all: who opens the next one waits for no more."""


class EvidenceService:
    """One for all incidents: tasks wait their turn."""

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        collector: Collector,
        is_leader: Callable[[], bool],
        first_tasks: Sequence[str] = (),
        on_answer: Callable[[IncidentId], None] = lambda _incident: None,
    ) -> None:
        """`first_tasks` are asked without being told to: at opening, and again before each diagnosis. `on_answer` is
        called when a run has ended: a step may be done, and another run may begin."""
        self._is_leader = is_leader
        self._first_tasks = tuple(first_tasks)
        self._store = store
        self._observer = observer
        self._collector = collector
        self._pool = ThreadPoolExecutor(max_workers=_AT_A_TIME, thread_name_prefix="evidence")
        self._lock = threading.Lock()
        self._mine: dict[EvidenceId, Progress | None] = {}
        self._is_closing = False
        self._on_progress: Callable[[IncidentId], None] = lambda _incident: None
        self._on_answer = on_answer

    def on_progress(self, listener: Callable[[IncidentId], None]) -> None:
        """Call `listener` when a running task came further, at most twice a second per task."""
        self._on_progress = listener

    def request(self, incident_id: IncidentId, task: str, *, by: str) -> EvidenceId:
        """Ask for a run; returns at once. Raises Refused if this task is running or unknown."""
        run = EvidenceId(str(ULID()))
        self._collector.task(task)

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            if any(r.task == task and r.is_running and not r.is_first_look for r in incident.runs.values()):
                raise Refused(f"{self._collector.task(task).title} is running already.", "", "Its result appears here.")
            return [EvidenceRequested(run=run, task=task, step=_step_of(task, incident))]

        self._store.write(incident_id, by=by, decide=decide)
        self.resume(incident_id, run)
        return run

    def run_due(self, incident_id: IncidentId) -> None:
        """Run what the runbook asks for next and nobody has run yet; returns at once."""
        asked: list[EvidenceRequested] = []

        def decide(incident: Incident) -> list[Body]:
            due = self._due(incident)
            asked[:] = [EvidenceRequested(run=EvidenceId(str(ULID())), task=each.task, step=each.id) for each in due]
            return [*asked]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        for request in asked:
            self.resume(incident_id, request.run)

    def _due(self, incident: Incident) -> list[EvidenceStep]:
        """The cheapest first. What has failed, or was cancelled, is run again once a person lets the evidence go on."""
        is_early = bool(self._first_tasks) and not any(run.is_first_look for run in incident.runs.values())
        if not incident.is_open or incident.is_stopped or is_early:
            return []
        running = {run.task for run in incident.runs.values() if run.is_running and run.branch is None}
        due = []
        for step in steps_ahead(incident):
            last = incident.latest_run_of(step.id)
            is_new = last is None or last.run in incident.runs_before
            if is_new and step.task in self._collector.tasks and step.task not in running:
                due.append(step)
        due.sort(key=lambda step: _CHEAPEST_FIRST.index(self._collector.tasks[step.task].reads))
        return due[: max(0, _AT_A_TIME - len(running))]

    def go_on(self, incident_id: IncidentId, *, by: str) -> None:
        """A person lets the runbook's evidence run, also what has failed before. Raises Refused where it runs."""

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            if not incident.is_stopped and any(run.is_running for run in incident.runs.values()):
                raise Refused("The evidence is running already.", "", "The card shows it.")
            return [EvidenceStopped(stopped=False)]

        self._store.write(incident_id, by=by, decide=decide)

    def stop(self, incident_id: IncidentId, *, by: str) -> None:
        """End what runs, and run nothing more by itself until a person lets it go on. What proves a repair goes on."""

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            return [] if incident.is_stopped else [EvidenceStopped(stopped=True)]

        incident = self._store.write(incident_id, by=by, decide=decide)
        for run in [each for each in incident.runs.values() if each.is_running]:
            is_proof = run.step is None and not run.is_first_look and _is_proving(incident)
            if not is_proof and not self._collector.cancel(run.run):
                self._end(incident_id, EvidenceEnded(run=run.run, how="cancelled", message="Stopped before it began."))

    def resume(self, incident_id: IncidentId, run: EvidenceId) -> None:
        """Run what was asked for and has no end; a run that this process works on is left alone."""
        with self._lock:
            if run in self._mine:
                return
            self._mine[run] = None
        self._pool.submit(in_this_span(self._work), incident_id, run)

    def run_now(self, incident_id: IncidentId, task: str, branch: str | None = None) -> Evidence:
        """Ask and wait, on the bot's own account (verification); of `branch`, if one is named, instead of main. Raises
        Refused if it gave no answer, and EvidenceCancelled if the bot is being stopped: that says nothing about the
        table."""
        run = EvidenceId(str(ULID()))
        request = EvidenceRequested(run=run, task=task, step=None, branch=branch)
        with self._lock:
            self._mine[run] = None
        self._store.write(incident_id, by=WATERLINE, decide=lambda _i: [request])
        self._work(incident_id, run)
        answered = self._store.get(incident_id).runs[run]
        if answered.is_running and self._is_closing:
            raise EvidenceCancelled("Waterline stopped during the check.", "", "It continues after the restart.")
        if answered.evidence is None:
            message = answered.ended.message if answered.ended else "it gave no answer"
            raise Refused(f"{task} gave no answer.", message, "Run the verification again.")
        return answered.evidence

    def look_first(self, incident_id: IncidentId) -> None:
        """Ask every first task that has no answer of the table's present state, or a fresh one from just before it.

        One look at the world for all, one after the other in the caller's thread: nobody waits for these, and Flink
        forgets. Raises CouldNotLook, UnknownTable.
        """
        incident = self._store.get(incident_id)
        if not incident.is_open or not self._first_tasks:
            return
        ask = ask_of(self._observer, incident.opened.table, incident.window, incident.trusted)
        for task in self._first_tasks:
            if self._is_closing:
                return
            self._look_at(incident_id, task, ask, incident.is_stopped)

    def _look_at(self, incident_id: IncidentId, task: str, ask: Ask, was_stopped: bool) -> None:
        run = EvidenceId(str(ULID()))
        with self._lock:
            self._mine[run] = None
        decide = partial(self._first_request, task=task, run=run, world=ask.observation, was_stopped=was_stopped)
        if run in self._store.write(incident_id, by=WATERLINE, decide=decide).runs:
            self._work(incident_id, run, ask)
        else:
            with self._lock:
                del self._mine[run]

    def _first_request(
        self, incident: Incident, *, task: str, run: EvidenceId, world: Observation, was_stopped: bool
    ) -> list[Body]:
        """Nothing once somebody has stopped it; a diagnosis that a person asks for after that looks all the same."""
        of_task = [each for each in incident.runs.values() if each.task == task]
        latest = incident.latest.get(task)
        known = latest.evidence if latest is not None else None
        is_stopped = incident.is_stopped and not was_stopped
        if not incident.is_open or is_stopped or any(each.is_running for each in of_task):
            return []
        rests_on_runs = self._collector.task(task).reads == "nothing"
        if known is not None and (is_of(known, world, rests_on_runs) or self._is_fresh(known, incident, world)):
            return []
        return [EvidenceRequested(run=run, task=task, step=_step_of(task, incident), first_look=True)]

    def _is_fresh(self, known: Evidence, incident: Incident, world: Observation) -> bool:
        """Whether manifests were read for it moments ago, and only the job has committed since. What reads nothing is
        asked anew: it costs nothing."""
        runs = known_runs_of(incident.opened.job, world.jobs, known.window.of(world.table))
        is_young = world.table.read_at - known.at < JUST_NOW and self._collector.task(known.task).reads != "nothing"
        return is_young and isinstance(staleness(known, world.table, runs), Fresh)

    def progress(self, run: EvidenceId) -> Progress | None:
        """How far a run of this process is; None before the first word."""
        return self._mine.get(run)

    def close(self) -> None:
        """Wait for nothing new; running tasks are interrupted, not ended: the next start runs them again."""
        self._is_closing = True
        for run in list(self._mine):
            self._collector.cancel(run)
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _work(self, incident_id: IncidentId, run: EvidenceId, asked: Ask | None = None) -> None:
        """One run, unless another replica works on the record by now: that one finds the run without an end."""
        try:
            view = self._store.get(incident_id).runs[run]
            if view.is_running and self._is_leader():
                body = self._answered(incident_id, view, asked)
                if body is not None:
                    self._end(incident_id, body)
        finally:
            with self._lock:
                self._mine.pop(run, None)

    def _answered(
        self, incident_id: IncidentId, view: EvidenceRun, asked: Ask | None
    ) -> EvidenceRecorded | EvidenceEnded | None:
        """None if the bot is being stopped: then the run has not ended."""
        incident, run = self._store.get(incident_id), view.run
        try:
            ask = asked or ask_of(self._observer, incident.opened.table, incident.window, incident.trusted, view.branch)
            if self._is_closing:
                return None
            collected = partial(
                self._collector.collect,
                view.task,
                ask,
                run=run,
                on_progress=partial(self._progressed, incident_id, run),
            )
            try:
                return EvidenceRecorded(run=run, evidence=collected())
            except EngineEnded as error:
                if self._is_closing or not self._may_run_again(incident_id, run, error):
                    raise
            return EvidenceRecorded(run=run, evidence=collected())
        except EvidenceCancelled as error:
            return None if self._is_closing else EvidenceEnded(run=run, how="cancelled", message=str(error))
        except WaterlineError as error:
            return EvidenceEnded(run=run, how="failed", message=str(error))
        except Exception:
            log.exception("evidence failed", run=run, task=view.task)
            return EvidenceEnded(run=run, how="failed", message=f"A defect of ours (reference {run[-8:]} in the log).")

    def _may_run_again(self, incident_id: IncidentId, run: EvidenceId, ended: EngineEnded) -> bool:
        """True the first time, which is noted before anything is begun; False for a run that has ended meanwhile,
        too."""
        again = EvidenceRunAgain(run=run, message=str(ended))

        def is_first(now: Incident) -> bool:
            return now.runs[run].is_running and not now.runs[run].is_again

        return self._store.append_if(incident_id, [again], is_first)

    def _end(self, incident_id: IncidentId, body: EvidenceRecorded | EvidenceEnded) -> None:
        """The answer and the end of the step that asked for it, in one append: nothing can come between them."""

        def decide(incident: Incident) -> list[Body]:
            run = incident.runs[body.run]
            step_end = _end_of_step(run.step, body) if incident.is_open else []
            return [body, *step_end] if run.is_running else []

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        self._on_answer(incident_id)

    def _progressed(self, incident_id: IncidentId, run: EvidenceId, progress: Progress) -> None:
        if run in self._mine:
            self._mine[run] = progress
            self._on_progress(incident_id)


def _step_of(task: str, incident: Incident) -> StepId | None:
    """The step ahead that asks for this task."""
    return next((step.id for step in steps_ahead(incident) if step.task == task), None)


def _is_proving(incident: Incident) -> bool:
    views = incident.proposals.values()
    return any(v.state is ProposalState.APPLIED and (v.verified is None or v.is_proof_asked) for v in views)


def _end_of_step(step: StepId | None, body: EvidenceRecorded | EvidenceEnded) -> list[Body]:
    if step is None or isinstance(body, EvidenceEnded):
        return []
    return [StepDone(step=step, key=body.evidence.verdict.value, why=body.evidence.headline)]


def ask_of(
    observer: Observer, table: TableName, window: Window, trusted: SnapshotId | None, branch: str | None = None
) -> Ask:
    """One look at the world; `branch`, if one is named, stands in the place of main. Raises CouldNotLook,
    UnknownTable."""
    observation = observer.observe(table, window=window, branch=branch)
    head, setup = observation.table.head, observer.setup(table)
    return Ask(
        observation=observation,
        window=Window(since=window.since, until=head if head is not None else window.until),
        contract=setup.contract,
        trusted=trusted if trusted is not None else observation.table.waterline,
        branch=branch,
        replay=setup.replay,
        copies=setup.copies,
    )
