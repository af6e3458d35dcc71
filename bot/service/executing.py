"""Carries out an approved proposal: intent, effect, outcome, each in the journal before the next.

After a crash the journal says how far it came. An effect with an intent and no end is verified against the
world: what happened is recorded, what surely did not happen is done, what cannot be known stops the execution.
"""

from collections.abc import Mapping
from typing import Literal

from bot.actions import _effects as effects
from bot.actions._effects import Looked, describe
from bot.domain.approval_refusals import NotAllowed
from bot.domain.approval_standing import NO_GROUPS
from bot.domain.deciding import Begin, decide
from bot.domain.entries import Body, EffectEnded, EffectStarted, ExecutionEnded, ExecutionStarted
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown, Refused, Superseded, WaterlineError
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, ProposalId, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.ports import Clock
from bot.service.carried_out import as_far_as
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.proposing import Proposals

_AT_WORK = {ProposalState.EXECUTING, ProposalState.UNKNOWN}


class Executions:
    """Begins and resumes executions; one at a time per proposal (the database decides)."""

    def __init__(self, store: IncidentStore, observer: Observer, proposals: Proposals, clock: Clock) -> None:
        self._store = store
        self._observer = observer
        self._proposals = proposals
        self._clock = clock

    def begin(self, incident_id: IncidentId, proposal_id: ProposalId, *, by: UserId) -> None:
        """Journal the start, after checking every requirement against the world.

        Raises Refused (not approved, begun already, not yours), Superseded (and then the proposal is), CouldNotLook.
        """
        view = self._store.get(incident_id).proposals.get(proposal_id)
        if view is None:
            raise Refused("This proposal is not part of the incident.", "", "Look at the newest message.")
        self._beginning(view, by)
        try:
            effects.prepare(self._observer.hands, view.proposal, 0)
        except Superseded as error:
            # Whoever began a moment ago has moved the world: that is the answer, not a table that moved.
            self._beginning(self._store.get(incident_id).proposals[proposal_id], by)
            self._proposals.supersede(incident_id, proposal_id, str(error))
            raise

        def begun(now: Incident) -> list[Body]:
            return [self._beginning(now.proposals[proposal_id], by)]

        self._store.write(incident_id, by=by, decide=begun)

    def carry_on(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        """Do what is left of a started execution, to its end. Safe to call again at any time."""
        while True:
            view = self._store.get(incident_id).proposals[proposal_id]
            if view.state not in _AT_WORK:
                return
            index = view.next_effect
            if index is None:
                sentence = f"{view.proposal.title}: carried out. Now it is verified."
                self._end(incident_id, proposal_id, "applied", sentence)
                return
            if not self._one_effect(incident_id, view, index):
                return

    def _one_effect(self, incident_id: IncidentId, view: ProposalView, index: int) -> bool:
        """Whether the next effect may follow."""
        proposal = view.proposal
        pending = view.started.get(index)
        if pending is not None:
            looked = effects.verify(self._observer.hands, proposal, pending)
            if looked.happened == "yes":
                self._found(incident_id, view, index, looked, "found after an interruption")
                return True
            if looked.happened == "unknown":
                return self._unknown(incident_id, view, index, looked.sentence)
        try:
            intent = effects.prepare(self._observer.hands, proposal, index, earlier=pending)
        except (Superseded, CouldNotLook) as error:
            return self._refused(incident_id, view, index, error)
        if not self._intends(incident_id, intent):
            return False
        try:
            did = effects.perform(self._observer.hands, proposal, intent)
        except (CommitRefused, Superseded, CouldNotLook) as error:
            return self._refused(incident_id, view, index, error)
        except OutcomeUnknown as error:
            return self._after_unknown(incident_id, view, intent, error)
        self._effect_ended(incident_id, proposal.id, index, "done", did.sentence, did.result)
        return True

    def _intends(self, incident_id: IncidentId, intent: EffectStarted) -> bool:
        """Whether it was written down: not where a person has ended the execution meanwhile."""

        def decide(now: Incident) -> list[Body]:
            return [intent] if now.proposals[intent.proposal].state in _AT_WORK else []

        after = self._store.write(incident_id, by=WATERLINE, decide=decide)
        return after.proposals[intent.proposal].state in _AT_WORK

    def _after_unknown(
        self, incident_id: IncidentId, view: ProposalView, intent: EffectStarted, error: OutcomeUnknown
    ) -> bool:
        looked = effects.verify(self._observer.hands, view.proposal, intent)
        if looked.happened == "yes":
            self._found(incident_id, view, intent.index, looked, "answer was lost")
            return True
        return self._unknown(incident_id, view, intent.index, f"{error} Looked afterwards: {looked.sentence}")

    def _found(self, incident_id: IncidentId, view: ProposalView, index: int, looked: Looked, how: str) -> None:
        detail = f"{looked.sentence} ({how})"
        self._effect_ended(incident_id, view.proposal.id, index, "done", detail, looked.result)

    def _refused(self, incident_id: IncidentId, view: ProposalView, index: int, error: WaterlineError) -> bool:
        self._effect_ended(incident_id, view.proposal.id, index, "refused", str(error))
        self._end(incident_id, view.proposal.id, "refused", f"{error} {as_far_as(view, index)}")
        return False

    def _unknown(self, incident_id: IncidentId, view: ProposalView, index: int, sentence: str) -> bool:
        if view.state is ProposalState.EXECUTING:
            self._effect_ended(incident_id, view.proposal.id, index, "unknown", sentence)
            what = describe(view.proposal.effects[index])
            text = (
                f"{what}: whether it happened is not known. {sentence} It will be looked at again; nothing is repeated."
            )
            self._end(incident_id, view.proposal.id, "unknown", text)
        return False

    def _effect_ended(
        self,
        incident_id: IncidentId,
        proposal_id: ProposalId,
        index: int,
        how: Literal["done", "refused", "unknown"],
        detail: str,
        result: Mapping[str, str] | None = None,
    ) -> None:
        body = EffectEnded(proposal=proposal_id, index=index, how=how, detail=detail, result=dict(result or {}))
        self._store.write(incident_id, by=WATERLINE, decide=lambda _i: [body])

    def _end(self, incident_id: IncidentId, proposal_id: ProposalId, outcome: str, sentence: str) -> None:
        body = ExecutionEnded.model_validate({"proposal": proposal_id, "outcome": outcome, "sentence": sentence})

        def decide(now: Incident) -> list[Body]:
            return [body] if now.proposals[proposal_id].may_become(ProposalState(outcome)) else []

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _beginning(self, view: ProposalView, by: UserId) -> ExecutionStarted:
        """By the one rule about proposals. Raises Refused."""
        decided = decide(view, Begin(), by=by, at=self._clock.now(), membership=NO_GROUPS)
        if isinstance(decided, NotAllowed):
            raise Refused(decided.happened, decided.found, decided.remedy)
        assert isinstance(decided, ExecutionStarted)
        return decided
