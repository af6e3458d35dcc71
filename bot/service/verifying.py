"""Proves the table after an execution: the same evidence again, on the new head."""

import time
from collections.abc import Callable

from bot.domain.entries import Body, Check, Verified
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalView
from bot.domain.ids import EvidenceId, IncidentId, JobId, ProposalId, short, short_job
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.proposal import MoveTable, StartJob
from bot.domain.table import Snapshot, TableState
from bot.service.evidence_desk import EvidenceDesk
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer

_LOOKS = 60
_PAUSE_S = 2.0
_PROOFS = (("duplicate_rows", "No row is there twice"), ("missing_positions", "No row is missing"))


class Verifier:
    """Waits for the first commits of the new run, then asks the evidence tasks."""

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        desk: EvidenceDesk,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._observer = observer
        self._desk = desk
        self._pause = pause

    def verify(self, incident_id: IncidentId, proposal_id: ProposalId) -> Verified:
        """Check everything, journal the result, and return it. Waits up to two minutes for the new run's commits."""
        incident = self._store.get(incident_id)
        view = incident.proposals[proposal_id]
        move = next(e for e in view.proposal.effects if isinstance(e, MoveTable))
        start = next(e for e in view.proposal.effects if isinstance(e, StartJob))
        job_id = started_as(view)
        table = self._wait_for_commits(incident, move, job_id)
        checks = [commit_check(table, move, start, job_id), self._run_check(start, job_id)]
        proofs: list[EvidenceId] = []
        for task, name in _PROOFS:
            check, evidence = self._proof(incident_id, task, name)
            checks.append(check)
            proofs += [evidence.id] if evidence else []
        head = table.head
        assert head is not None
        verified = Verified(
            proposal=proposal_id,
            passed=all(check.passed for check in checks),
            checks=tuple(checks),
            evidence=tuple(proofs),
            head=head,
        )
        self._store.write(incident_id, by=WATERLINE, decide=lambda now: self._once(now, verified))
        return verified

    def _once(self, incident: Incident, verified: Verified) -> list[Body]:
        known = incident.proposals[verified.proposal].verified
        return [] if known is not None and known.passed else [verified]

    def _wait_for_commits(self, incident: Incident, move: MoveTable, job_id: JobId) -> TableState:
        """The table once the new run has two commits, or after the last look."""
        for _ in range(_LOOKS):
            table = self._observer.table(incident.opened.table)
            if len(commits_after(table, move, job_id)) >= 2:
                return table
            self._pause(_PAUSE_S)
        return self._observer.table(incident.opened.table)

    def _run_check(self, start: StartJob, job_id: JobId) -> Check:
        name = f"The job runs from checkpoint {start.checkpoint_id}"
        try:
            run = self._observer.jobs[start.job].flink.run(job_id)
        except CouldNotLook as error:
            return Check(name=name, passed=None, sentence=str(error))
        if run is None or run.restored is None:
            return Check(name=name, passed=False, sentence=f"Run {short_job(job_id)} shows no restore.")
        passed = run.restored.checkpoint_id == start.checkpoint_id and not run.is_terminal
        found = f"Run {short_job(job_id)} is {run.state}, restored from checkpoint {run.restored.checkpoint_id}."
        return Check(name=name, passed=passed, sentence=found)

    def _proof(self, incident_id: IncidentId, task: str, name: str) -> tuple[Check, Evidence | None]:
        try:
            evidence = self._desk.run_now(incident_id, task)
        except (CouldNotLook, Refused) as error:
            return Check(name=name, passed=None, sentence=str(error)), None
        passed = {Verdict.RULED_OUT: True, Verdict.CONFIRMED: False, Verdict.INCONCLUSIVE: None}[evidence.verdict]
        return Check(name=name, passed=passed, sentence=evidence.headline), evidence


def started_as(view: ProposalView) -> JobId:
    """The job id under which the execution started the job. ValueError if it did not come so far."""
    found = next((intent.job_id for intent in reversed(view.started.values()) if intent.job_id), None)
    if found is None:
        raise ValueError(f"proposal {view.proposal.id} has not started a job")
    return found


def commits_after(table: TableState, move: MoveTable, job_id: JobId) -> tuple[Snapshot, ...]:
    """Commits of run `job_id` on main after the move's target, oldest first."""
    kept = {s.snapshot_id for s in table.ancestors(move.to)}
    return tuple(s for s in reversed(table.chain) if s.snapshot_id not in kept and s.job_id == job_id)


def commit_check(table: TableState, move: MoveTable, start: StartJob, job_id: JobId) -> Check:
    """The next commit must be the next checkpoint, on top of the snapshot that pairs."""
    expected = start.checkpoint_id + 1
    name = f"The next commit is checkpoint {expected}, on top of {short(move.to)}"
    commits = commits_after(table, move, job_id)
    if not commits:
        return Check(name=name, passed=False, sentence=f"Run {short_job(job_id)} has not committed yet.")
    first = commits[0]
    ids = ", ".join(str(s.checkpoint_id) for s in commits[:6])
    passed = first.checkpoint_id == expected and first.parent_id == move.to
    return Check(
        name=name,
        passed=passed,
        sentence=f"Run {short_job(job_id)} committed checkpoints {ids} on top of {short(first.parent_id)}.",
    )
