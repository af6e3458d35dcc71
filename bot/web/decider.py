"""What somebody may decide about a proposal on a page, and the decision itself: by the rule of Slack and terminal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

import structlog

from bot.domain.approval import People
from bot.domain.approval_refusals import NotAllowed, not_seen
from bot.domain.approval_standing import Membership
from bot.domain.deciding import Act, Approve, Begin, BreakGlass, Reject, Veto, decide
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, ProposalId, UserId
from bot.domain.incident import Incident
from bot.domain.savepoints import restorers_of
from bot.ports import Directory
from bot.service.services import Services
from bot.web.promptly import Promptly

log = structlog.get_logger(__name__)
Door = Literal["approve", "break-glass", "reject", "veto", "begin"]
_TRIED = "tried"
"""A reason with which the rule is asked what it would say."""


@dataclass(frozen=True)
class Said:
    """What a form says."""

    act: Door
    digest: str
    reason: str = ""


@dataclass(frozen=True)
class Offer:
    """What one person may do about a proposal now."""

    acts: tuple[Door, ...]
    why: NotAllowed | None = None
    """Why that is not all: done by whom, whom to ask."""
    unread: tuple[str, ...] = ()
    """User groups that could not be read: the rule asks for them again when something is decided."""


class Decider:
    """The people of `web.people` decide; the bot's workers carry out."""

    def __init__(self, services: Services, shown_members: Directory, people: Mapping[str, UserId]) -> None:
        """`people`: identity, as the proxy says it -> Slack user id. `shown_members` may be a minute old: it says which
        forms are shown, and the rule asks Slack itself."""
        self._services = services
        self._members = shown_members
        self._people = people
        self._promptly = Promptly()

    def user(self, identity: str | None) -> UserId | None:
        """Who that is in Slack; None: nobody who may decide here."""
        return self._people.get(identity) if identity is not None else None

    def offer(self, incident: Incident, view: ProposalView, by: UserId) -> Offer:
        """The forms for this person. Changes nothing."""
        if not incident.is_open:
            closed = NotAllowed(why="decided", happened=f"Incident {incident.id} is closed.")
            return Offer(acts=(), why=closed)
        membership = self._membership(view, by)
        at = incident.no_earlier(self._services.clock.now())
        told = {
            act.kind: decide(view, act, by=by, at=at, membership=membership)
            for act in self._acts(view)
        }  # fmt: skip
        no = {kind: each for kind, each in told.items() if isinstance(each, NotAllowed) and each.why != "unreadable"}
        doors: tuple[Door, ...] = ("approve", "begin", "reject", "veto", "break-glass")
        main = no.get("approve" if view.state is ProposalState.PROPOSED else "begin")
        return Offer(
            acts=tuple(door for door in doors if door in told and door not in no),
            why=main,
            unread=tuple(sorted(membership.unread)),
        )

    def decide(self, incident_id: IncidentId, view: ProposalView, said: Said, by: UserId, identity: str) -> None:
        """Once, however often the form is sent. Raises what the rule and the world say against it."""
        proposal_id = view.proposal.id
        try:
            self._do(incident_id, view, said, by)
        except Refused:
            if not _is_said_already(self._services.store.get(incident_id).proposals[proposal_id], said, by):
                raise
        else:
            log.info("decided on the web", act=said.act, proposal=proposal_id, by=by, identity=identity)

    def _do(self, incident_id: IncidentId, view: ProposalView, said: Said, by: UserId) -> None:
        approvals, proposal_id = self._services.approvals, view.proposal.id
        match said.act:
            case "approve":
                approvals.approve(incident_id, proposal_id, digest=said.digest, by=by, via="web")
            case "break-glass":
                approvals.break_glass(incident_id, proposal_id, said.reason, digest=said.digest, by=by, via="web")
            case "reject":
                approvals.reject(incident_id, proposal_id, said.reason, by=by, via="web")
            case "veto":
                approvals.veto(incident_id, proposal_id, said.reason, by=by, via="web")
            case "begin":
                self._begin(incident_id, proposal_id, said.digest, by)
            case _:
                assert_never(said.act)

    def _begin(self, incident_id: IncidentId, proposal_id: ProposalId, digest: str, by: UserId) -> None:
        services = self._services
        unseen = not_seen(services.store.get(incident_id).proposals[proposal_id], digest, shown_whole=True)
        if unseen is not None:
            raise Refused(unseen.happened, "Nothing was begun.", unseen.remedy)
        services.approvals.may_begin(incident_id, proposal_id, by)
        services.executions.begin(incident_id, proposal_id, by=by)
        services.duties.settle(incident_id)

    def _acts(self, view: ProposalView) -> tuple[Act, ...]:
        digest, policy = view.proposal.digest, view.proposal.policy
        return (
            Approve(digest=digest, via="web"),
            Begin(restorers=restorers_of(view.proposal, self._services.store.every())),
            Reject(reason=_TRIED),
            *((Veto(reason=_TRIED),) if policy.veto is not None else ()),
            *((BreakGlass(digest=digest, reason=_TRIED, via="web"),) if policy.break_glass is not None else ()),
        )

    def _membership(self, view: ProposalView, by: UserId) -> Membership:
        policy, within, unread = view.proposal.policy, set(), set()
        rules: tuple[People | None, ...] = (*policy.approvers, policy.veto, policy.break_glass)
        for group in dict.fromkeys(group for people in rules if people is not None for group in people.groups):
            members = self._promptly.ask(group, lambda group=group: self._members.members((group,)))  # type: ignore[misc]
            if members is None:
                unread.add(group)
            elif by in members:
                within.add(group)
        return Membership(within=frozenset(within), unread=frozenset(unread))


def _is_said_already(view: ProposalView, said: Said, by: UserId) -> bool:
    """Whether this person has decided just that before: a form that is sent twice says nothing new."""
    match said.act:
        case "approve":
            return any(given.by == by and given.digest == said.digest for given in view.approvals)
        case "break-glass":
            return view.glass is not None and view.glass.approval.by == by and view.glass.approval.digest == said.digest
        case "reject" | "veto":
            how = {"reject": "rejected", "veto": "vetoed"}[said.act]
            return view.ended is not None and view.ended.how == how and view.ended_by == by
        case "begin":
            return view.execution_started_at is not None and view.executed_by == by
        case _:
            assert_never(said.act)
