"""Proves the table after an execution: the same evidence again, on the new head."""

import time
from collections.abc import Callable, Mapping, Sequence

from bot.actions._effects import awaited, checks
from bot.actions._scan import ActionModule
from bot.domain.action import MovesWaterline
from bot.domain.effects import PublishBranch
from bot.domain.entries import Body, Check, Verified
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.evidence import Evidence, Verdict
from bot.domain.execution import ProposalView
from bot.domain.ids import IncidentId, ProposalId, SnapshotId, short
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.table import TableState
from bot.service.evidence_desk import EvidenceDesk
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer

_LOOKS = 60
_PAUSE_S = 2.0


class Verifier:
    """Waits for the first commits of the new run, then asks the evidence tasks."""

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        desk: EvidenceDesk,
        actions: Mapping[str, ActionModule],
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._observer = observer
        self._desk = desk
        self._actions = actions
        self._pause = pause

    def verify(self, incident_id: IncidentId, proposal_id: ProposalId) -> Verified:
        """Check everything, journal the result, and return it. Waits up to two minutes for a started run's commits.

        Raises CouldNotLook where the table cannot be read.
        """
        incident = self._store.get(incident_id)
        view = incident.proposals[proposal_id]
        self._wait(view)
        found = list(checks(self._observer.hands, view))
        proofs: list[Evidence] = []
        action = self._actions[view.proposal.action].action
        branch = view.proposal.rehearses_on
        for task, name in (*action.proofs, *self._proofs_on_main(incident, view)):
            check, evidence = self._proof(incident_id, task, name, branch)
            found.append(check)
            proofs += [evidence] if evidence else []
        table = self._observer.table(incident.opened.table)
        seen = table if branch is None else table.seen_from(branch)
        if seen.head is None:
            raise CouldNotLook(
                f"There is no branch {branch} of {table.name} any more.",
                "Expected the branch on which the repair was rehearsed; somebody has removed it.",
                "Propose the repair anew.",
            )
        head = proven_head(seen, proofs)
        if head is None:
            found.append(_moved_away(seen, proofs))
        verified = Verified(
            proposal=proposal_id,
            passed=all(check.passed for check in found),
            checks=tuple(found),
            evidence=tuple(proof.id for proof in proofs),
            head=seen.head if head is None else head,
            moves_waterline=self._moves_waterline(incident, view),
            branch=branch,
        )
        self._store.write(incident_id, by=WATERLINE, decide=lambda now: self._once(now, verified))
        return verified

    def _moves_waterline(self, incident: Incident, view: ProposalView) -> MovesWaterline:
        """What its proof says of the table. Of a rehearsal, nothing; of a repair that is published, what the action
        that made it says: one which proves no more than its bounds does not make the table trusted; nor does one
        that left rows of others out."""
        if view.proposal.rehearses_on is not None:
            return "no"
        if view.proposal.preview.others:
            return "under-review"
        action = self._actions.get((_published_by(view, incident) or view).proposal.action)
        return action.action.moves_waterline if action is not None else "no"

    def _proofs_on_main(self, incident: Incident, view: ProposalView) -> tuple[tuple[str, str], ...]:
        """Of a repair that is published, what has accused main before, by the action that made it."""
        made = _published_by(view, incident)
        action = self._actions.get(made.proposal.action) if made is not None else None
        on_main = [run for run in incident.runs.values() if run.branch is None and run.evidence is not None]
        accusing = {run.task for run in on_main if run.evidence and run.evidence.verdict is Verdict.CONFIRMED}
        return tuple(each for each in (action.action.proofs_on_main if action else ()) if each[0] in accusing)

    def _once(self, incident: Incident, verified: Verified) -> list[Body]:
        known = incident.proposals[verified.proposal].verified
        return [] if known is not None and known.passed else [verified]

    def _wait(self, view: ProposalView) -> None:
        """Until nothing is awaited of a run that was started, or the last look; not at all where none was started.

        Asked anew each time: an operator tells only after a while under which id it started the run.
        """
        for _ in range(_LOOKS):
            if not awaited(self._observer.hands, view):
                return
            self._pause(_PAUSE_S)

    def _proof(
        self, incident_id: IncidentId, task: str, name: str, branch: str | None
    ) -> tuple[Check, Evidence | None]:
        try:
            evidence = self._desk.run_now(incident_id, task, branch)
        except (CouldNotLook, Refused) as error:
            return Check(name=name, passed=None, sentence=str(error)), None
        passed = {Verdict.RULED_OUT: True, Verdict.CONFIRMED: False, Verdict.INCONCLUSIVE: None}[evidence.verdict]
        return Check(name=name, passed=passed, sentence=evidence.headline), evidence


def _published_by(view: ProposalView, incident: Incident) -> ProposalView | None:
    """The rehearsal whose branch the proposal makes main; None where it publishes none."""
    published = {effect.branch for effect in view.proposal.effects if isinstance(effect, PublishBranch)}
    made = [each for each in incident.proposals.values() if each.proposal.rehearses_on in published]
    return made[-1] if made else None


def proven_head(table: TableState, proofs: Sequence[Evidence]) -> SnapshotId | None:
    """The newest snapshot that every proof has read: each pinned the head of its own moment, and others went on
    committing. The head where there are no proofs; None where one of them read what is no ancestor of the head."""
    missing = {proof.head for proof in proofs}
    if not missing:
        return table.head
    for snapshot in table.chain:
        missing.discard(snapshot.snapshot_id)
        if not missing:
            return snapshot.snapshot_id
    return None


def _moved_away(table: TableState, proofs: Sequence[Evidence]) -> Check:
    gone = next(proof for proof in proofs if proof.head not in table.chain_ids)
    return Check(
        name="What was proven is part of the table",
        passed=False,
        sentence=f"{gone.question} was asked of {short(gone.head)}, which is no ancestor of {short(table.head)}: "
        "somebody has moved the table meanwhile.",
    )
