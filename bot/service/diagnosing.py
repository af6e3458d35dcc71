"""Puts the evidence of an incident before every failure mode.

Who has a table in doubt beside one incident, as trust is judged: by the record, and by what the watch keeps.
"""

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from bot.diagnosis._support.case import living
from bot.diagnosis._support.examine import ModeModule, diagnose
from bot.history.case import Case, PlannedChange
from bot.incident.diagnosis import Diagnosis
from bot.incident.doubt import accused
from bot.incident.entries import Body, Diagnosed
from bot.incident.incident import EvidenceRun, Incident
from bot.incident.journal import WATERLINE
from bot.incident.recovery_deadline import deadline_of, is_no_worse
from bot.incident.setup import TableSetup
from bot.incident.staged_repairs import is_left_down
from bot.incident.trust_claims import ConcurrentDoubts, concurrent_doubts
from bot.observation.errors import EvidenceCancelled, Refused
from bot.observation.evidence import Evidence, Observation, Verdict
from bot.observation.ids import EvidenceId, IncidentId
from bot.observation.table import Window
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.watching.finding_store import WatchFindings

_FIELDS = {
    "ledger": "ledger",
    "duplicates": "duplicates",
    "extra-copies": "extra_copies",
    "gaps": "gaps",
    "replayable": "replayable",
    "pairing": "pairing",
    "duplicate-files": "duplicate_files",
    "duplicate-commits": "duplicate_commits",
    "leaked-manifests": "leaked",
    "orphan-files": "orphans",
    "unreadable-files": "unreadable",
    "missing-files": "missing_files",
    "late": "late",
    "corrected": "corrected",
    "replayed": "replayed",
    "schema-drift": "schema_drift",
    "freshness": "freshness",
    "table-health": "table_health",
    "checkpoint-health": "checkpoint_health",
    "recovery-extent": "recovery_extent",
    "reads": "reads",
    "contract-agreement": "agreement",
}
"""Kind of a finding -> field of the case."""
Read = tuple[frozenset[EvidenceId], tuple[PlannedChange, ...]]
"""The answers, and what was declared planned, from which a diagnosis was made."""
_LOOKS_AGAIN = 5
"""So often a diagnosis is made anew because evidence came while it was made."""


@dataclass(eq=False)
class Diagnostician:
    """Builds the case and asks every mode."""

    _store: IncidentStore
    _observer: Observer
    _modes: Mapping[str, ModeModule]
    look_first: Callable[[IncidentId], None] = lambda _incident: None
    """Sees anew, before each diagnosis, what is cheap to see."""
    collect: Callable[[IncidentId, str], Evidence] | None = None
    """For what a mode asks for because all that it needs left a doubt. Raises Refused where there is no answer."""

    def diagnose(self, incident_id: IncidentId) -> Diagnosis:
        """Diagnose from the newest evidence and a fresh look at the world; what a mode asks for then is collected,
        each task once, and it is diagnosed anew: that takes as long as these take. What gave no answer is asked again
        only by a person, or once the table has changed: until then the diagnosis says why.

        Journalled, unless the last diagnosis said the very same: two clicks make one entry. One that is the first to
        see a job run that was left down is an entry all the same.
        """
        was_stopped = self._store.get(incident_id).is_stopped
        self.look_first(incident_id)
        told, read = self._now(incident_id)
        tried = self._failed(incident_id)
        while asked := [task for task in told.diagnosis.asks if task not in tried]:
            tried.update(asked)
            for task in asked:
                self._try(incident_id, task, was_stopped)
            told, read = self._now(incident_id)
        for _ in range(_LOOKS_AGAIN):
            if self._is_written(incident_id, told, read):
                return told.diagnosis
            told, read = self._now(incident_id)
        self._is_written(incident_id, told, None)
        return told.diagnosis

    def _failed(self, incident_id: IncidentId) -> set[str]:
        """Evidence that a mode may want once more, whose newest run gave no answer: what was found before still counts,
        and only a person asks again."""
        needed = set(tasks_needed(self._modes)) - self._further
        return {each.task for each in unanswered(self._store.get(incident_id), needed)}

    @property
    def _further(self) -> frozenset[str]:
        """What modes ask for beside all that is collected anyway."""
        return frozenset(task for module in self._modes.values() for task in module.mode.asks_for)

    def _is_written(self, incident_id: IncidentId, told: Diagnosed, read: Read | None) -> bool:
        """Not where evidence came since, which the diagnosis would seem to explain (`read` None: whatever came)."""
        is_old = False

        def decide(now: Incident) -> list[Body]:
            nonlocal is_old
            is_old = read is not None and _answered(now) != read
            is_same = now.diagnosis == told.diagnosis and is_no_worse(told.deadline, now.deadline)
            is_known = is_same and not (told.sees_job_run and is_left_down(now))
            return [] if is_old or is_known or not now.is_open else [told]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        return not is_old

    def _now(self, incident_id: IncidentId) -> tuple[Diagnosed, Read]:
        incident = self._store.get(incident_id)
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        case = self._case(incident, observation, unanswered(incident, self._further))
        found = diagnose(case, self._modes)
        told = Diagnosed(diagnosis=found, sees_job_run=bool(living(case)), deadline=deadline_of(case, found))
        return told, _answered(incident)

    def _try(self, incident_id: IncidentId, task: str, was_stopped: bool) -> None:
        """Without an answer the diagnosis goes on saying that it is missing; nothing is asked once somebody has stopped
        it."""
        incident = self._store.get(incident_id)
        if self.collect is None or not incident.is_open or (incident.is_stopped and not was_stopped):
            return
        with suppress(EvidenceCancelled, Refused):
            self.collect(incident_id, task)

    def case(self, incident: Incident, observation: Observation) -> Case:
        """The incident's newest evidence beside the world as it is now, its window stretched to the present head."""
        return self._case(incident, observation, ())

    def _case(self, incident: Incident, observation: Observation, unanswered: tuple[Evidence, ...]) -> Case:
        """`unanswered` takes the place of what these tasks had answered before."""
        latest = {task: run.evidence for task, run in incident.latest.items() if run.evidence is not None}
        evidence = tuple((latest | {each.task: each for each in unanswered}).values())
        head = observation.table.head
        window = Window(since=incident.window.since, until=head if head is not None else incident.window.until)
        case = build_case(self._observer.setup(incident.opened.table), observation, window, evidence)
        return case.model_copy(
            update={
                "keeps": incident.kept_run,
                "planned": tuple(incident.planned.values()),
                "accused": accused(incident, observation.table),
            }
        )


def _answered(incident: Incident) -> Read:
    answers = frozenset(run.evidence.id for run in incident.latest.values() if run.evidence is not None)
    return answers, tuple(incident.planned.values())


def tasks_needed(modes: Mapping[str, ModeModule]) -> tuple[str, ...]:
    """Evidence that any mode needs, in the order in which the catalogue first asks for it."""
    return tuple(dict.fromkeys(task for module in modes.values() for task in module.mode.needs))


def build_case(setup: TableSetup, observation: Observation, window: Window, evidence: tuple[Evidence, ...]) -> Case:
    """Findings by kind, beside the world."""
    found: dict[str, Any] = {_FIELDS[item.finding.kind]: item.finding for item in evidence if item.finding is not None}
    ledger = found.pop("ledger", None)
    return Case(
        observation=observation,
        window=window,
        contract=setup.contract,
        job_name=setup.job,
        ledger=ledger.ledger if ledger is not None else None,
        evidence=evidence,
        **found,
    )


def unanswered(incident: Incident, tasks: Collection[str]) -> tuple[Evidence, ...]:
    """Of those of `tasks` whose newest run on main has ended without an answer, an answer that says why.

    It is pinned to what the evidence before it had seen, so that it goes stale with that: when somebody else commits,
    the table is rolled back, or the window is begun further down. Where nothing had been seen before, nothing is said.
    """
    newest = {run.task: run for run in incident.runs.values() if run.branch is None and not run.is_running}
    return tuple(
        told
        for task, run in newest.items()
        if task in tasks and run.evidence is None and (told := _why(run, incident)) is not None
    )


def _why(run: EvidenceRun, incident: Incident) -> Evidence | None:
    before = takewhile(lambda each: each.run != run.run, incident.runs.values())
    seen = [each.evidence for each in before if each.evidence is not None and each.branch is None]
    if not seen or run.ended is None:
        return None
    return Evidence(
        verdict=Verdict.INCONCLUSIVE,
        headline=run.ended.message or f"It was {run.ended.how}.",
        id=run.run,
        task=run.task,
        task_version=0,
        question=run.task,
        metadata_location=seen[-1].metadata_location,
        head=seen[-1].head,
        window=seen[-1].window,
        at=run.requested_at,
        took_ms=0,
        bytes_read=0,
    )


class OtherDoubts:
    """Reads the record; the catalog is not asked."""

    def __init__(self, store: IncidentStore, findings: WatchFindings | None) -> None:
        """`findings` None: nothing is watched."""
        self._store = store
        self._findings = findings

    def of(self, incident: Incident) -> ConcurrentDoubts:
        """What holds now. Raises CouldNotLook. Cost: one query for all incidents, and one for what the watch keeps."""
        table = incident.opened.table
        theirs = tuple(each for each in self._store.all() if each.opened.table == table)
        return concurrent_doubts(
            incident, theirs, self._findings.of(table, theirs) if self._findings is not None else ()
        )
