"""Puts the evidence of an incident before every failure mode."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.diagnosis._examine import diagnose
from bot.diagnosis._scan import ModeModule
from bot.domain.diagnosis import Case, Diagnosis
from bot.domain.entries import Body, Diagnosed
from bot.domain.errors import EvidenceCancelled, Refused
from bot.domain.evidence import Evidence, Observation
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.setup import TableSetup
from bot.domain.table import Window
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer

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
    "forked-writers": "forked",
    "late": "late",
    "corrected": "corrected",
    "replayed": "replayed",
    "backfill": "backfill",
    "schema-drift": "schema_drift",
    "freshness": "freshness",
    "table-health": "table_health",
    "checkpoint-health": "checkpoint_health",
    "recovery-extent": "recovery_extent",
    "reads": "reads",
    "contract-agreement": "agreement",
}
"""Kind of a finding -> field of the case."""


class Diagnostician:
    """Builds the case and asks every mode."""

    def __init__(self, store: IncidentStore, observer: Observer, modes: Mapping[str, ModeModule]) -> None:
        self._store = store
        self._observer = observer
        self._modes = modes
        self._look: Callable[[IncidentId], None] = lambda _incident: None
        self._collect: Callable[[IncidentId, str], Evidence] | None = None

    def collect_by(self, collect: Callable[[IncidentId, str], Evidence]) -> None:
        """Call `collect` for what a mode asks for because all that it needs left a doubt; it raises Refused where
        there is no answer."""
        self._collect = collect

    def look_before(self, look: Callable[[IncidentId], None]) -> None:
        """Call `look` before each diagnosis: what is cheap to see is seen anew."""
        self._look = look

    def diagnose(self, incident_id: IncidentId) -> Diagnosis:
        """Diagnose from the newest evidence and a fresh look at the world; what a mode asks for then is collected,
        each task once, and it is diagnosed anew: that takes as long as these take.

        Journalled, unless the last diagnosis said the very same: two clicks make one entry.
        """
        self._look(incident_id)
        diagnosis = self._now(incident_id)
        collected: dict[str, bool] = {}
        while asked := [task for task in diagnosis.asks if task not in collected]:
            collected |= {task: self._is_collected(incident_id, task) for task in asked}
            if any(collected[task] for task in asked):
                diagnosis = self._now(incident_id)

        def decide(now: Incident) -> list[Body]:
            return [] if now.diagnosis == diagnosis else [Diagnosed(diagnosis=diagnosis)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        return diagnosis

    def _now(self, incident_id: IncidentId) -> Diagnosis:
        incident = self._store.get(incident_id)
        case = self.case(incident, self._observer.observe(incident.opened.table, window=incident.window))
        return diagnose(case, self._modes)

    def _is_collected(self, incident_id: IncidentId, task: str) -> bool:
        """Whether it gave an answer; without one the diagnosis goes on saying that it is missing."""
        if self._collect is None or not self._store.get(incident_id).is_open:
            return False
        try:
            self._collect(incident_id, task)
        except (EvidenceCancelled, Refused):
            return False
        return True

    def case(self, incident: Incident, observation: Observation) -> Case:
        """The incident's newest evidence beside the world as it is now, its window stretched to the present head."""
        evidence = tuple(run.evidence for run in incident.latest.values() if run.evidence is not None)
        head = observation.table.head
        window = Window(since=incident.window.since, until=head if head is not None else incident.window.until)
        case = build_case(self._observer.setup(incident.opened.table), observation, window, evidence)
        return case.model_copy(update={"keeps": incident.kept_run})


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
