"""Proves the table after an execution: the same evidence again, on the new head."""

import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from bot.actions._effects import Awaited, awaited, checks
from bot.actions._scan import ActionModule
from bot.domain.action import Action, MovesWaterline
from bot.domain.effects import PublishBranch
from bot.domain.empty_commits import empty_commits_allowed
from bot.domain.entries import Body, Check, ExecutionEnded, NoteAdded, VerificationRequested, Verified
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.evidence import Evidence
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, ProposalId, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.sentences import clock_time
from bot.ports import Clock
from bot.service.branch_proofs import base_of, no_more_than_main
from bot.service.evidence_desk import EvidenceDesk
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.main_proofs import checked, left_open, may_stay_open, nothing_left, proofs_on_main, with_way_out
from bot.service.observing import Observer
from bot.service.proven_head import moved_away, proven_head
from bot.service.start_proofs import counted_before, no_more_than_before, proofs_of_start

_LOOKS = 60
_PAUSE_S = 2.0
_AT_ONCE = timedelta(minutes=2)
"""So long after the execution its proof is waited for without a break; later it is looked at now and then."""
_LONGEST = timedelta(hours=6)
_USUAL_INTERVAL = timedelta(minutes=1)
"""Between checkpoints, where neither Flink nor the contract tells."""


class Verifier:
    """Waits for the first commits of the new run, then asks the evidence tasks."""

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        desk: EvidenceDesk,
        actions: Mapping[str, ActionModule],
        clock: Clock,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._store = store
        self._observer = observer
        self._desk = desk
        self._actions = actions
        self._clock = clock
        self._pause = pause

    def request(self, incident_id: IncidentId, proposal_id: ProposalId, *, by: UserId) -> None:
        """Ask for the proof anew: it is owed until it is there, and who asks meanwhile gets that one. Raises Refused
        where nothing is left to prove."""

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            view = incident.proposals[proposal_id]
            if view.state is not ProposalState.APPLIED or (view.verified is not None and view.verified.passed):
                raise Refused("There is nothing to verify again.", f"It is {_state_of(view)}.", "Look at its message.")
            return [] if view.is_proof_asked else [VerificationRequested(proposal=proposal_id)]

        self._store.write(incident_id, by=by, decide=decide)

    def verify(self, incident_id: IncidentId, proposal_id: ProposalId, *, is_asked: bool = False) -> Verified | None:
        """Check everything, journal the result, and return it. None while a run that was started has yet to bring what
        tells, which is noted once: to be called again, until it has or its time is over. Waits up to two minutes after
        the execution. `is_asked`: by a person, who is told what is there now.

        Raises CouldNotLook where the table cannot be read.
        """
        incident = self._store.get(incident_id)
        view = incident.proposals[proposal_id]
        if not is_asked and (lacking := self._wait(incident, view)) is not None:
            until = self._until(incident, view, lacking)
            if self._clock.now() < until:
                self._note(incident_id, view, lacking, until)
                return None
        found = list(checks(self._observer.hands, view))
        proofs: list[Evidence] = []
        action = self._actions[view.proposal.action].action
        branch = view.proposal.rehearses_on
        moves = self._moves_waterline(incident, view)
        own = dict(action.proofs)  # these come first, and under their own names
        made, repair = _published_by(view, incident), self._repair(incident, view)
        published = made.proposal if made is not None else None
        beside = repair.no_more_than_before if repair is not None else ()
        declared = {**own, **(dict(repair.proofs) if repair is not None else {})}
        open_beside: list[Check] = []
        held_against: list[Evidence] = []  # of main: what is proven is the branch
        for task, name in (own | self._proofs_on_main(incident, view, moves) | own).items():
            check, evidence = self._proof(incident_id, task, name, branch)
            proofs += [evidence] if evidence else []
            if branch is not None and task in action.no_more_than_before and check.passed is False and evidence:
                _, main = self._proof(incident_id, task, name, None)
                check = no_more_than_main(check, evidence, main, base_of(view))
                held_against += [main] if main else []
            if check.passed is None and may_stay_open(incident, task, declared, published):
                open_beside.append(left_open(check))
            else:
                is_own = task in own and task not in beside
                says_way = moves == "trusted" or task in beside
                found.append(with_way_out(check, task, is_own=is_own) if says_way else check)
        for task, name in proofs_of_start(action, view):
            check, evidence = self._proof(incident_id, task, name, branch)
            found.append(no_more_than_before(check, evidence, counted_before(incident, view, task)))
            proofs += [evidence] if evidence else []
        table = self._observer.table(incident.opened.table)
        seen = table if branch is None else table.seen_from(branch)
        if seen.head is None:
            raise CouldNotLook(
                f"Branch {branch} of {table.name} is gone.",
                "Expected the branch with the repair; somebody removed it.",
                "Propose the repair again.",
            )
        head = proven_head(seen, proofs)
        if head is None:
            found.append(moved_away(seen, proofs))
        verified = Verified(
            proposal=proposal_id,
            passed=all(check.passed for check in found),
            checks=(*found, *open_beside),
            evidence=tuple(proof.id for proof in (*proofs, *held_against)),
            head=seen.head if head is None else head,
            moves_waterline=moves,
            branch=branch,
        )
        after = self._store.write(incident_id, by=WATERLINE, decide=lambda now: self._once(now, verified))
        return after.proposals[proposal_id].verified

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

    def _proofs_on_main(self, incident: Incident, view: ProposalView, moves: MovesWaterline) -> dict[str, str]:
        """Nothing of a branch: nobody reads it."""
        if view.proposal.rehearses_on is not None:
            return {}
        contract = self._observer.setup(incident.opened.table).contract
        return proofs_on_main(incident, moves, self._repair(incident, view), contract)

    def _repair(self, incident: Incident, view: ProposalView) -> Action | None:
        """The action whose branch it publishes; None where it publishes none."""
        made = _published_by(view, incident)
        module = self._actions.get(made.proposal.action) if made is not None else None
        return module.action if module is not None else None

    def _once(self, incident: Incident, verified: Verified) -> list[Body]:
        known = incident.proposals[verified.proposal].verified
        if known is not None and known.passed:
            return []
        left = nothing_left(incident) if verified.makes_trusted else None
        if left is None:
            return [verified]
        return [verified.model_copy(update={"passed": False, "checks": (*verified.checks, left)})]

    def _wait(self, incident: Incident, view: ProposalView) -> Awaited | None:
        """What is needed and not there yet, once two minutes have gone since the execution; None where the checks can
        tell. Asked anew each time: an operator tells only after a while under which id it started the run."""
        ended, open_ones = _ended_at(incident, view), awaited(self._observer.hands, view)
        for _ in range(_LOOKS):
            if not open_ones or self._clock.now() - ended >= _AT_ONCE:
                break
            self._pause(_PAUSE_S)
            open_ones = awaited(self._observer.hands, view)
        return next((each for each in open_ones if each.is_needed), None)

    def _until(self, incident: Incident, view: ProposalView, lacking: Awaited) -> datetime:
        """How long that is waited for: until the sink must have committed, were every checkpoint without files, twice
        over; at most six hours."""
        every = lacking.every or self._observer.setup(incident.opened.table).contract.commit_every or _USUAL_INTERVAL
        silent = min(empty_commits_allowed(self._observer.table(incident.opened.table).properties) + 1, 1000)
        return _ended_at(incident, view) + _AT_ONCE + min(2 * silent * min(every, _LONGEST), _LONGEST)

    def _note(self, incident_id: IncidentId, view: ProposalView, lacking: Awaited, until: datetime) -> None:
        """Once for each state in which it is found."""
        began = f"“{view.proposal.title}” is not verified yet: {lacking.sentence.partition('. ')[0].rstrip('.')}."
        text = (
            f"“{view.proposal.title}” is not verified yet: {lacking.sentence} Waterline verifies it as soon as "
            f"possible, at {clock_time(until)} at the latest."
        )

        def decide(now: Incident) -> list[Body]:
            notes = (entry.body.text for entry in now.entries if isinstance(entry.body, NoteAdded))
            return [] if any(note.startswith(began) for note in notes) else [NoteAdded(text=text)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _proof(
        self, incident_id: IncidentId, task: str, name: str, branch: str | None
    ) -> tuple[Check, Evidence | None]:
        try:
            evidence = self._desk.run_now(incident_id, task, branch)
        except (CouldNotLook, Refused) as error:
            return Check(name=name, passed=None, sentence=str(error)), None
        return checked(name, evidence), evidence


def _state_of(view: ProposalView) -> str:
    return "already verified" if view.verified is not None and view.verified.passed else view.state.value


def _published_by(view: ProposalView, incident: Incident) -> ProposalView | None:
    """The rehearsal whose branch the proposal makes main; None where it publishes none."""
    published = {effect.branch for effect in view.proposal.effects if isinstance(effect, PublishBranch)}
    made = [each for each in incident.proposals.values() if each.proposal.rehearses_on in published]
    return made[-1] if made else None


def _ended_at(incident: Incident, view: ProposalView) -> datetime:
    """When it was carried out to its end."""
    return next(
        entry.at
        for entry in reversed(incident.entries)
        if isinstance(entry.body, ExecutionEnded) and entry.body.proposal == view.proposal.id
    )
