"""Carries out an approved proposal: intent, effect, outcome, each in the journal before the next.

After a crash the journal says how far it came. An effect with an intent and no end is verified against the
world: what happened is recorded, what surely did not happen is done, what cannot be known stops the execution.

What an execution writes down. Each entry only while it is still true: an executor that has lost its turn, to another
one or to a person who settled the outcome, writes nothing and is told so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bot.actions import _effects as effects
from bot.actions._effects import describe
from bot.actions._effects.handler import Verification
from bot.incident.decisions import Begin, decide
from bot.incident.effects import MakeBranch, StartFromStop, StartJob, StopJob
from bot.incident.entries import Body, EffectEnded, EffectStarted, ExecutionEnded, ExecutionStarted, NoteAdded
from bot.incident.execution import AT_WORK, ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, Refused, Superseded
from bot.observation.ids import IncidentId, ProposalId, UserId, short_job
from bot.observation.sentences import span
from bot.ports import Clock
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.proposals.proposing import Proposals
from bot.service.proposals.rules import must_have_the_job_alone, must_still_be_diagnosed
from bot.service.spans import TRACER


@dataclass(frozen=True)
class EffectExecution:
    """One executor at one effect, as it has read the record."""

    incident: IncidentId
    view: ProposalView
    index: int
    """Of the effect."""
    intents: int
    """How many intents of this effect there were; one more by anybody else, and the turn is lost."""
    is_ours: bool = False
    """Whether the newest of them is of this process."""
    since: datetime | None = None
    """Since when this process has seen it stand still before the effect, turn after turn; None: it does not."""

    @property
    def what(self) -> str:
        return describe(self.view.proposal.effects[self.index])

    def is_still(self, now: ProposalView) -> bool:
        """Whether the effect still has no end, and nobody else has begun it anew."""
        return self.has_no_end(now) and now.intents.get(self.index, 0) == self.intents

    def has_no_end(self, now: ProposalView) -> bool:
        """Whether the execution still stands at this effect."""
        return now.state in AT_WORK and now.next_effect == self.index


@dataclass(eq=False)
class ExecutionRecord:
    """Appends intents and ends. Every answer says whether it was written."""

    _store: IncidentStore

    def intends(self, turn: EffectExecution, intent: EffectStarted) -> bool:
        return self._writes(turn, [intent], turn.is_still)

    def done(self, turn: EffectExecution, detail: str, result: Mapping[str, str]) -> bool:
        """It happened, which is true whoever has done it, and is said also where a person has settled otherwise."""
        ended = EffectEnded(
            proposal=turn.view.proposal.id, index=turn.index, how="done", detail=detail, result={**result}
        )
        is_written = self._writes(turn, [ended], turn.has_no_end)
        if not is_written:
            self.contradicts(turn, detail)
        return is_written

    def refused(self, turn: EffectExecution, detail: str) -> bool:
        """It surely did not happen, and the execution ends with it."""
        proposal = turn.view.proposal.id
        ended = EffectEnded(proposal=proposal, index=turn.index, how="refused", detail=detail)
        sentence = f"{detail} {as_far_as(turn.view, turn.index)}"
        return self._writes(
            turn, [ended, ExecutionEnded(proposal=proposal, outcome="refused", sentence=sentence)], turn.is_still
        )

    def unknown(self, turn: EffectExecution, detail: str) -> bool:
        """Nobody knows whether it happened; said once, until something more is known."""
        proposal = turn.view.proposal.id
        sentence = f"{turn.what}: outcome unknown. {detail} Waterline checks again and repeats nothing."
        return self._writes(
            turn,
            [
                EffectEnded(proposal=proposal, index=turn.index, how="unknown", detail=detail),
                ExecutionEnded(proposal=proposal, outcome="unknown", sentence=sentence),
            ],
            lambda now: turn.is_still(now) and now.state is ProposalState.EXECUTING,
        )

    def applied(self, incident_id: IncidentId, view: ProposalView) -> bool:
        proposal = view.proposal
        sentence = f"{proposal.title}: done. Verification starts now."
        ended = ExecutionEnded(proposal=proposal.id, outcome="applied", sentence=sentence)
        turn = EffectExecution(incident_id, view, len(proposal.effects), 0)
        return self._writes(turn, [ended], lambda now: now.state in AT_WORK and now.next_effect is None)

    def waits(self, turn: EffectExecution, detail: str, patience: str) -> None:
        """Note why the execution stands still before the effect: once, and anew after its outcome was not known."""
        proposal = turn.view.proposal
        began = f"“{proposal.title}” waits before “{turn.what}”: "
        text = (
            f"{began}{detail} Waterline checks every few seconds, for {patience}. The proposal's thread shows the "
            "steps done so far."
        )
        started = turn.view.execution_started_at

        def is_new(now: Incident) -> bool:
            is_noted = False
            for entry in now.entries:
                match entry.body:
                    case EffectEnded(proposal=proposal.id, index=turn.index):
                        is_noted = False
                    case NoteAdded(text=noted) if noted.startswith(began) and (started is None or entry.at >= started):
                        is_noted = True
                    case _:
                        pass
            return not is_noted

        self._store.append_if(turn.incident, [NoteAdded(text=text)], is_new)

    def contradicts(self, turn: EffectExecution, detail: str) -> None:
        """People are told, once, that a step happened though they had settled, or were told, that it did not."""
        proposal = turn.view.proposal
        began = f"“{proposal.title}”: “{turn.what}” happened after all, "
        then = "The execution has ended. Check the table and the job before you propose anything else."

        def decide(now: Incident) -> list[Body]:
            view = now.proposals[proposal.id]
            if turn.index not in view.denied | view.refused:
                return []
            why = "settled that it did not" if turn.index in view.denied else "reported that it did not"
            notes = [each.body.text for each in now.entries if isinstance(each.body, NoteAdded)]
            is_noted = any(note.startswith(began) for note in notes)
            return [] if is_noted else [NoteAdded(text=f"{began}though it was {why}. {detail} {then}")]

        self._store.write(turn.incident, by=WATERLINE, decide=decide)

    def _writes(self, turn: EffectExecution, bodies: Sequence[Body], if_so: Callable[[ProposalView], bool]) -> bool:
        proposal = turn.view.proposal.id
        return self._store.append_if(turn.incident, bodies, lambda now: if_so(now.proposals[proposal]))


def as_far_as(view: ProposalView, index: int) -> str:
    """What was carried out before effect `index`, and that it and what follows were not; where a run was stopped, how
    the job is started again."""
    steps = [describe(effect) for effect in view.proposal.effects]
    said = f"Done: {', '.join(steps[:index]) or 'nothing'}. Not done: {', '.join(steps[index:])}."
    return said + _started_again(view, index)


def _started_again(view: ProposalView, index: int) -> str:
    """A sentence that begins with a blank; empty where the job does not stand still for it."""
    before = view.proposal.effects[:index]
    run = next((effect.job_id for effect in before if isinstance(effect, StopJob)), None)
    if run is None or any(isinstance(effect, StartJob | StartFromStop) for effect in before):
        return ""
    stands = f" Run {short_job(run)} and its job are stopped: "
    if any(isinstance(effect, MakeBranch) for effect in before):
        return f"{stands}`/waterline propose drop_repair_branch` starts it again from a state that pairs with main."
    return f"{stands}`/waterline undo` starts it again from the state that the stop left, if that pairs."


_PATIENCE = timedelta(hours=1)
"""How long an execution stands still before an effect of whose world nobody can tell, or that is never answered."""


class Executions:
    """Begins and resumes executions; one at a time per proposal (the database decides)."""

    def __init__(self, store: IncidentStore, observer: Observer, proposals: Proposals, clock: Clock) -> None:
        self._store = store
        self._observer = observer
        self._proposals = proposals
        self._clock = clock
        self._record = ExecutionRecord(store)
        self._waiting: dict[ProposalId, EffectExecution] = {}
        """Where an execution stands still: its newest turn."""

    def begin(self, incident_id: IncidentId, proposal_id: ProposalId, *, by: UserId) -> None:
        """Journal the start, after checking every requirement against the world; the reconciler carries it on.

        Raises Refused (not approved, begun already, not yours, its job another incident's for now), Superseded (and
        then the proposal is), CouldNotLook.
        """
        view = self._store.get(incident_id).proposal(proposal_id)
        begin = Begin()
        self._beginning(view, begin, by)
        must_have_the_job_alone(view.proposal, incident_id, self._store.every())
        try:
            must_still_be_diagnosed(self._store.get(incident_id), view.proposal)
            effects.prepare(self._observer.clients, view.proposal, 0)
        except Superseded as error:
            # Whoever began a moment ago has moved the world: that is the answer, not a table that moved.
            self._beginning(self._store.get(incident_id).proposals[proposal_id], begin, by)
            self._proposals.supersede(incident_id, proposal_id, str(error))
            raise

        def begun(now: Incident) -> list[Body]:
            return [self._beginning(now.proposals[proposal_id], begin, by)]

        self._store.write(incident_id, by=by, decide=begun)

    def carry_on(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        """Do what is left of a started execution, to its end. Safe to call again at any time."""
        told = {"waterline.incident": incident_id, "waterline.proposal": proposal_id}
        with TRACER.start_as_current_span("execution", attributes=told):
            self._carry_on(incident_id, proposal_id)

    def _carry_on(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        while True:
            view = self._store.get(incident_id).proposals[proposal_id]
            if view.state not in AT_WORK:
                return
            index = view.next_effect
            if index is None:
                self._record.applied(incident_id, view)
                return
            turn = self._turn(incident_id, view, index)
            with TRACER.start_as_current_span(f"effect {turn.what}"):
                if not self._one_effect(turn):
                    return

    def look_back(self, incident_id: IncidentId) -> None:
        """Whether a step happened after a person had settled that it did not, or a start after it had ended as refused:
        its request may land late. Told once. Of a step only while nothing was begun since, which may have done the
        same; a start has an id of its own."""
        incident = self._store.get(incident_id)
        begun = [view for view in incident.proposals.values() if view.execution_started_at is not None]
        newest = max(begun, key=lambda each: each.execution_started_at or each.proposal.proposed_at, default=None)
        for view in begun:
            for index in sorted((view.denied | view.refused) & view.started.keys()):
                is_start = view.started[index].job_id is not None
                if not is_start and (view is not newest or index not in view.denied):
                    continue
                looked = effects.verify(self._observer.clients, view.proposal, view.started[index])
                if looked.happened == "yes":
                    self._record.contradicts(EffectExecution(incident_id, view, index, 0), looked.sentence)

    def _turn(self, incident_id: IncidentId, view: ProposalView, index: int) -> EffectExecution:
        intents, last = view.intents.get(index, 0), self._waiting.pop(view.proposal.id, None)
        if last is None or last.index != index:
            return EffectExecution(incident_id, view, index, intents)
        return EffectExecution(incident_id, view, index, intents, last.is_ours and last.intents == intents, last.since)

    def _intends(self, turn: EffectExecution, intent: EffectStarted) -> EffectExecution | None:
        """The turn with this intent on record; None where it is lost. What this process has said last, and what nobody
        has begun anew since, need not be said again; anybody else says it, so that only one can end the effect."""
        if turn.is_ours and intent == turn.view.started.get(turn.index):
            now = self._store.get(turn.incident).proposals[turn.view.proposal.id]
            return turn if turn.is_still(now) else None
        return replace(turn, intents=turn.intents + 1, is_ours=True) if self._record.intends(turn, intent) else None

    def _one_effect(self, turn: EffectExecution) -> bool:
        clients, proposal, index = self._observer.clients, turn.view.proposal, turn.index
        pending = turn.view.started.get(index)
        if pending is not None:
            looked = effects.verify(clients, proposal, pending)
            if looked.happened != "no":
                return self._told(turn, looked, "found after an interruption", looked.sentence)
        try:
            intent = self._prepared(turn, pending)
        except Superseded as error:
            return self._refused(turn, pending, str(error))
        except CouldNotLook as error:
            return self._waits(turn, pending, str(error))
        begun = self._intends(turn, intent)
        if begun is None:
            return False
        turn = begun
        try:
            did = effects.perform(clients, proposal, intent)
        except (CommitRefused, Superseded) as error:
            return self._refused(turn, intent, str(error))
        except CouldNotLook as error:
            return self._waits(turn, intent, str(error))
        except OutcomeUnknown as error:
            looked = effects.verify(clients, proposal, intent)
            said = f"{error} Check afterwards: {looked.sentence}"
            if looked.happened == "no":
                return self._waits(turn, intent, said)
            return self._told(turn, looked, "answer was lost", said)
        return self._record.done(turn, did.sentence, did.result)

    def _prepared(self, turn: EffectExecution, pending: EffectStarted | None) -> EffectStarted:
        """Raises Superseded (also where another incident has begun to work on the job since), CouldNotLook."""
        if not turn.view.started:
            try:
                must_have_the_job_alone(turn.view.proposal, turn.incident, self._store.every())
            except Refused as error:
                raise Superseded(error.happened, error.found, error.remedy) from error
        return effects.prepare(self._observer.clients, turn.view.proposal, turn.index, earlier=pending)

    def _told(self, turn: EffectExecution, looked: Verification, how: str, otherwise: str) -> bool:
        """What was found is done; anything else is not known yet."""
        if looked.happened == "yes":
            return self._record.done(turn, f"{looked.sentence} ({how})", looked.result)
        self._record.unknown(turn, otherwise)
        return False

    def _refused(self, turn: EffectExecution, intent: EffectStarted | None, said: str) -> bool:
        """A refusal is believed after a look: what is in the way may be the effect itself, whose request came twice, or
        late; and what is still at work is not over."""
        if intent is None:
            self._record.refused(turn, said)
            return False
        looked = effects.verify(self._observer.clients, turn.view.proposal, intent)
        if looked.happened != "no":
            return self._told(
                turn, looked, "it happened before the refusal", f"{said} Check afterwards: {looked.sentence}"
            )
        yet = effects.may_still_complete(self._observer.clients, turn.view.proposal.effects[turn.index])
        if yet is not None:
            self._record.unknown(turn, f"{said} {yet}")
            return False
        self._record.refused(turn, said)
        return False

    def _waits(self, turn: EffectExecution, intent: EffectStarted | None, said: str) -> bool:
        """For now nothing is known of the world, or its answer is lost and the effect not there: it is looked at again,
        and people are told, once. An hour of it without a break is taken as a refusal, so that something else can be
        proposed; a bot that was away has not waited."""
        now = self._clock.now()
        since = turn.since or now
        if now - since >= _PATIENCE:
            return self._refused(turn, intent, said)
        self._record.waits(turn, said, span(_PATIENCE))
        self._waiting[turn.view.proposal.id] = replace(turn, since=since)
        return False

    def _beginning(self, view: ProposalView, begin: Begin, by: UserId) -> ExecutionStarted:
        """By the one rule about proposals. Raises Refused."""
        decided = decide(view, begin, by=by, at=self._clock.now())
        assert isinstance(decided, ExecutionStarted)
        return decided
