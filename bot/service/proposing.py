"""Proposals and decisions about them: one transition for Slack, terminal and web."""

from collections.abc import Mapping, Sequence

from ulid import ULID

from bot.actions._requirements import World, check_all
from bot.actions._scan import ActionModule
from bot.domain.action import Plan
from bot.domain.approval import Approval, NotAllowed
from bot.domain.approval import decide as decide_approval
from bot.domain.entries import Body, ProposalApproved, ProposalEnded, ProposalMade
from bot.domain.errors import CouldNotLook, Refused, Superseded
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, ProposalId, StepId, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.requirements import Requirement
from bot.ports import Clock, Directory
from bot.service.diagnosing import Diagnostician
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.observing import Observer
from bot.service.proposal_rules import evidence_is_fresh, match_for, refuse_unless

_OPEN = {ProposalState.PROPOSED, ProposalState.APPROVED, ProposalState.EXECUTING}


class Proposals:
    """Propose, approve, reject, expire, supersede."""

    def __init__(
        self,
        store: IncidentStore,
        observer: Observer,
        diagnostician: Diagnostician,
        actions: Mapping[str, ActionModule],
        directory: Directory,
        clock: Clock,
    ) -> None:
        self._store = store
        self._observer = observer
        self._diagnostician = diagnostician
        self._actions = actions
        self._directory = directory
        self._clock = clock

    def propose(self, incident_id: IncidentId, action: str, *, step: StepId | None, by: UserId) -> ProposalId:
        """Propose an action for the diagnosis. Raises Refused (with what is missing), Superseded, CouldNotLook."""
        incident = self._store.get(incident_id)
        module = self._actions[action]
        observation = self._observer.observe(incident.opened.table, window=incident.window)
        case = self._diagnostician.case(incident, observation)
        evidence_is_fresh(incident, case, module)
        mode, match = match_for(incident, action)
        setup = self._observer.setup(incident.opened.table)
        plan = Plan(
            incident=incident_id,
            proposal=ProposalId(str(ULID())),
            case=case,
            mode=mode,
            match=match,
            evidence=tuple(item.id for item in case.evidence),
            policy=setup.policy_for(action),
            by=by,
            at=self._clock.now(),
        )
        proposal = module.propose(plan)
        self._check(proposal.requirements, incident)

        def decide(now: Incident) -> list[Body]:
            must_be_open(now)
            busy = next((v for v in now.proposals.values() if v.state in _OPEN), None)
            if busy is not None and busy.state is ProposalState.PROPOSED:
                raise Refused(
                    "A proposal is waiting for approval already.", f"It is “{busy.proposal.title}”.", "Decide it first."
                )
            if busy is not None:
                raise Refused(f"A proposal is {busy.state.value} already.", "", "Wait for its end.")
            return [ProposalMade(step=step, proposal=proposal)]

        self._store.write(incident_id, by=by, decide=decide)
        return proposal.id

    def approve(self, incident_id: IncidentId, proposal_id: ProposalId, *, digest: str, by: UserId) -> bool:
        """One person's yes for what they were shown; True when the proposal is approved now.

        Raises Refused (with whom to ask), Superseded (and then the proposal is), CouldNotLook.
        """
        view = self._view(incident_id, proposal_id)
        members: frozenset[UserId] | None
        try:
            members = (
                self._directory.members(view.proposal.policy.groups) if view.proposal.policy.groups else frozenset()
            )
        except CouldNotLook:
            members = None
        self._still_holds(incident_id, view)

        def decide(now: Incident) -> list[Body]:
            current = now.proposals[proposal_id]
            refuse_unless(current, ProposalState.PROPOSED)
            proposal = current.proposal
            if digest != proposal.digest:
                raise Refused(
                    "You were shown another content than what is proposed.", "", "Look at the newest message."
                )
            at = self._clock.now()
            decision = decide_approval(
                proposal.policy, by=by, proposer=proposal.proposed_by, given=tuple(current.approvals),
                group_members=members, at=at, expires_at=proposal.expires_at,
            )  # fmt: skip
            if isinstance(decision, NotAllowed):
                raise Refused(decision.sentence, "", "")
            approval = Approval(by=by, at=at, digest=digest)
            return [ProposalApproved(proposal=proposal_id, approval=approval, complete=decision.complete)]

        after = self._store.write(incident_id, by=by, decide=decide)
        return after.proposals[proposal_id].state is ProposalState.APPROVED

    def may_decide(self, incident_id: IncidentId, proposal_id: ProposalId, by: UserId) -> None:
        """Raises Refused unless `by` may reject: an approver of the policy, or the proposer who withdraws."""
        view = self._view(incident_id, proposal_id)
        policy = view.proposal.policy
        if by == view.proposal.proposed_by or by in policy.users:
            return
        if policy.groups and by in self._directory.members(policy.groups):
            return
        decision = decide_approval(
            policy, by=by, proposer=view.proposal.proposed_by, given=(), group_members=frozenset(),
            at=self._clock.now(), expires_at=view.proposal.expires_at,
        )  # fmt: skip
        raise Refused(decision.sentence if isinstance(decision, NotAllowed) else "You may not decide this.", "", "")

    def reject(self, incident_id: IncidentId, proposal_id: ProposalId, reason: str, *, by: UserId) -> None:
        """A no, with a reason; also the proposer may withdraw. Works until execution begins."""
        if not reason.strip():
            raise Refused("A rejection needs a reason.", "", "Say in a sentence what should change.")
        self.may_decide(incident_id, proposal_id, by)

        def decide(now: Incident) -> list[Body]:
            current = now.proposals[proposal_id]
            refuse_unless(current, ProposalState.PROPOSED)
            return [ProposalEnded(proposal=proposal_id, how="rejected", reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def expire_if_due(self, incident_id: IncidentId) -> None:
        """End every proposal whose term is over and that nobody executes. Safe to call at any time."""

        def decide(now: Incident) -> list[Body]:
            at = self._clock.now()
            return [
                ProposalEnded(
                    proposal=view.proposal.id,
                    how="expired",
                    reason=f"Nobody carried it through before {view.proposal.expires_at:%H:%M} UTC.",
                )
                for view in now.proposals.values()
                if view.may_become(ProposalState.EXPIRED) and at >= view.proposal.expires_at
            ]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def supersede_if_moved(self, incident_id: IncidentId) -> None:
        """End a proposal that waits while its world has moved, so that nobody decides about a past state.

        Raises CouldNotLook; then nothing is known and nothing is ended.
        """
        incident = self._store.get(incident_id)
        for view in incident.proposals.values():
            if view.may_become(ProposalState.SUPERSEDED):
                try:
                    self._check(view.proposal.requirements, incident)
                except Superseded as error:
                    self.supersede(incident_id, view.proposal.id, str(error))

    def supersede(self, incident_id: IncidentId, proposal_id: ProposalId, reason: str) -> None:
        """The world has moved: it can no longer be approved or executed."""

        def decide(now: Incident) -> list[Body]:
            if not now.proposals[proposal_id].may_become(ProposalState.SUPERSEDED):
                return []
            return [ProposalEnded(proposal=proposal_id, how="superseded", reason=reason)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _view(self, incident_id: IncidentId, proposal_id: ProposalId) -> ProposalView:
        view = self._store.get(incident_id).proposals.get(proposal_id)
        if view is None:
            raise Refused("This proposal is not part of the incident.", "", "Look at the newest message in the thread.")
        return view

    def _still_holds(self, incident_id: IncidentId, view: ProposalView) -> None:
        if view.state is not ProposalState.PROPOSED:
            return
        incident = self._store.get(incident_id)
        try:
            self._check(view.proposal.requirements, incident)
        except Superseded as error:
            self.supersede(incident_id, view.proposal.id, str(error))
            raise

    def _check(self, requirements: Sequence[Requirement], incident: Incident) -> None:
        world = World(table=self._observer.table(incident.opened.table), jobs=self._observer.jobs)
        check_all(requirements, world)
