"""The one rule about proposals: what somebody does -> the entry that says so, or why it is not done.

Slack, the terminal and the bot's own timers all come through `decide`. It is pure: who is in which group, and what time
it is, are told to it. Groups are read at the moment of a click, never remembered.

Beside it stand the words for whoever acted (who decided what, whom to ask, what to do), what falls due by a policy, and
what a person says of a step that no source knows of any more: it happened, or it did not.
"""

from typing import Annotated, Literal, assert_never

from pydantic import Field

from bot.incident.approval import (
    Approval,
    ApprovalPolicy,
    People,
    Via,
    mentions,
    missing,
    missing_in_words,
    whom_to_ask,
)
from bot.incident.entries import (
    ApprovalReminded,
    ExecutionStarted,
    GlassBroken,
    OutcomeSettled,
    ProposalApproved,
    ProposalEnded,
    VetoTimeEnded,
)
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.journal import WATERLINE
from bot.observation.ids import UserId
from bot.observation.record import Record, Utc


def last_approval_at(view: ProposalView) -> Utc:
    """From then on (inclusive) an approval would come too late: its hold would not end before the term does."""
    return view.proposal.expires_at - view.proposal.policy.hold


def hold_ends_at(policy: ApprovalPolicy, approved_at: Utc) -> Utc | None:
    """Until when an approved proposal waits for a veto; None if it need not wait."""
    return approved_at + policy.hold if policy.hold else None


def reminder_due_at(view: ProposalView) -> Utc | None:
    """When people are to be asked again; None once it is decided, and where the policy reminds nobody.

    Counted from the last reminder that was made: after a long stop there is one, not as many as were missed.
    """
    every = view.proposal.policy.reminder_interval
    if view.state is not ProposalState.PROPOSED or not every:
        return None
    due = (view.reminded_at or view.proposal.proposed_at) + every
    return due if due < last_approval_at(view) else None


class Membership(Record):
    """Which of a policy's user groups a person is in, as Slack says it now."""

    within: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    """Groups that could not be read: whether the person is in them is not known."""


NO_GROUPS = Membership()
"""Where no group needs to be asked."""


def is_one_of(people: People, by: UserId, membership: Membership) -> bool | None:
    """Whether `by` is among them; None when a group that would tell could not be read."""
    if by in people.users or membership.within & set(people.groups):
        return True
    return None if membership.unread & set(people.groups) else False


def is_approver(policy: ApprovalPolicy, by: UserId, membership: Membership) -> bool | None:
    """Whether `by` may approve, whatever the others did; None when that cannot be told.

    Where different teams are asked for, an unread team cannot be told either: the yes might count for it.
    """
    found = {is_one_of(people, by, membership) for people in policy.approvers}
    if policy.teams_asked and None in found:
        return None
    return True if True in found else (None if None in found else False)


def teams_of(policy: ApprovalPolicy, by: UserId, membership: Membership) -> tuple[str, ...]:
    """The policy's teams that `by` is in, in the policy's order."""
    return tuple(name for name, people in policy.teams.items() if is_one_of(people, by, membership))


Why = Literal[
    "decided",
    "held",
    "begun",
    "undecided",
    "expired",
    "own-proposal",
    "counted-already",
    "not-yours",
    "unreadable",
    "another-content",
    "not-shown-whole",
    "no-reason",
    "no-such-rule",
    "not-due",
]


class NotAllowed(Record):
    """Nothing was done. `why` is for programs, the rest for the person."""

    why: Why
    happened: str
    found: str = ""
    remedy: str = ""


def where_it_stands(view: ProposalView) -> NotAllowed:
    """What has become of it meanwhile: by whom, when, and what can be done now."""
    title = f"“{view.proposal.title}”"
    match view.state:
        case ProposalState.PROPOSED:
            return NotAllowed(
                why="undecided",
                happened=f"{title} is not approved, so it cannot run.",
                found=f"It needs {missing_in_words(view.proposal.policy, view.approvals)}.",
                remedy=whom_to_ask(view.proposal.policy, view.proposal.proposed_by, view.approvals),
            )
        case ProposalState.HELD:
            until = f"{view.held_until:%H:%M:%S} UTC" if view.held_until else "an unknown time"
            return NotAllowed(
                why="held",
                happened=f"{title} is approved already. {approved_by(view)}",
                found=f"The veto window ends at {until}.",
                remedy="It can run after that.",
            )
        case ProposalState.APPROVED:
            return NotAllowed(
                why="decided", happened=f"{title} is approved already. {approved_by(view)}", remedy="It can run now."
            )
        case ProposalState.EXECUTING | ProposalState.APPLIED | ProposalState.REFUSED | ProposalState.UNKNOWN:
            return NotAllowed(why="begun", happened=f"{title} {_begun(view)}", remedy="Follow it in its thread.")
        case _:
            who = f" by <@{view.ended_by}>" if view.ended_by not in (None, WATERLINE) else ""
            at = f" at {view.ended_at:%H:%M} UTC" if view.ended_at else ""
            return NotAllowed(
                why="decided",
                happened=f"{title} was {view.state.value}{who}{at}.",
                found=view.ended.reason if view.ended else "",
                remedy="Propose it again if it is still needed.",
            )


def approved_by(view: ProposalView) -> str:
    """`It was approved by @Ben at 14:02 UTC and by @Cleo at 14:05 UTC.`"""
    named = [f"by <@{given.by}> at {given.at:%H:%M} UTC" for given in view.approvals]
    alone = ", in an emergency" if view.glass is not None else ""
    return f"It was approved {' and '.join(named)}{alone}."


def _begun(view: ProposalView) -> str:
    who = f"<@{view.executed_by}>" if view.executed_by else "somebody"
    at = f" at {view.execution_started_at:%H:%M:%S} UTC" if view.execution_started_at else ""
    now = {
        ProposalState.EXECUTING: "is running",
        ProposalState.APPLIED: "is done",
        ProposalState.REFUSED: "was refused at execution",
        ProposalState.UNKNOWN: "has an unknown outcome",
    }[view.state]
    return f"was started by {who}{at}, and {now}."


def expired(view: ProposalView) -> NotAllowed:
    """The term is over; the end of the term is exclusive."""
    at = f"{view.proposal.expires_at:%H:%M} UTC"
    return NotAllowed(why="expired", happened=f"This proposal expired at {at}.", remedy="Propose it again.")


def too_late_to_hold(view: ProposalView) -> NotAllowed:
    """Approved now, it would expire while it is still held."""
    last, end = last_approval_at(view), view.proposal.expires_at
    return NotAllowed(
        why="expired",
        happened=f"This proposal could be approved until {last:%H:%M} UTC.",
        found=f"It expires at {end:%H:%M} UTC, before its veto window would end.",
        remedy="Propose it again.",
    )


def own_proposal(view: ProposalView) -> NotAllowed:
    return NotAllowed(
        why="own-proposal",
        happened="You proposed this, so somebody else must approve it.",
        remedy=whom_to_ask(view.proposal.policy, view.proposal.proposed_by, view.approvals),
    )


def counted_already(view: ProposalView) -> NotAllowed:
    policy = view.proposal.policy
    return NotAllowed(
        why="counted-already",
        happened="You have already approved this. Another approver is needed.",
        found=f"It needs {missing_in_words(policy, view.approvals)}.",
        remedy=whom_to_ask(policy, view.proposal.proposed_by, view.approvals),
    )


def not_yours(view: ProposalView, rule: People | None = None) -> NotAllowed:
    """Whoever clicked has no say; `rule` is who has, where it is not the approvers."""
    if rule is None:
        ask = whom_to_ask(view.proposal.policy, view.proposal.proposed_by, view.approvals)
        return NotAllowed(why="not-yours", happened="You are not an approver for this.", remedy=ask)
    return NotAllowed(
        why="not-yours",
        happened="This table's policy does not allow you to do this.",
        remedy=f"Ask {mentions((rule,), (view.proposal.proposed_by,))}.",
    )


def unreadable(membership: Membership) -> NotAllowed:
    """Nobody is taken for an approver because Slack did not answer."""
    groups = ", ".join(f"<!subteam^{group}>" for group in sorted(membership.unread))
    return NotAllowed(
        why="unreadable",
        happened=f"Slack did not return the user group {groups}, so your click cannot count.",
        found="Nothing was changed.",
        remedy="Try again, or ask somebody named in the policy.",
    )


def not_seen(view: ProposalView, digest: str, *, shown_whole: bool) -> NotAllowed | None:
    """Why a yes does not count for all that is proposed; None where all of it was shown. `digest`: of what was."""
    if digest != view.proposal.digest:
        return NotAllowed(
            why="another-content",
            happened="You saw an older version of this proposal.",
            found="Nothing was approved.",
            remedy="Look at the newest message of the proposal.",
        )
    if not shown_whole:
        return NotAllowed(
            why="not-shown-whole",
            happened=f"“{view.proposal.title}” is too long for one Slack message, so it cannot be approved there.",
            found="Nothing was approved.",
            remedy="Read it with `waterline proposal show` and the incident's id, and decide in the terminal.",
        )
    return None


def not_as_approved(view: ProposalView) -> NotAllowed:
    """What is on record now is not what people said yes to: somebody has written to the record past the bot."""
    digests = ", ".join(dict.fromkeys(given.digest[:12] for given in view.approvals))
    return NotAllowed(
        why="another-content",
        happened=f"“{view.proposal.title}” is not what was approved: its record was changed.",
        found=f"Expected the approved digest {digests}; found {view.proposal.digest[:12]}. Nothing was changed.",
        remedy="Reject it and propose again. `waterline record verify` names the changed entry; report it to whoever "
        "runs the database.",
    )


def needs_reason(what: str, remedy: str) -> NotAllowed:
    """A no, and an emergency, are for the record."""
    return NotAllowed(why="no-reason", happened=f"{what} needs a reason.", remedy=remedy)


def no_such_rule(what: Literal["veto", "break-glass"], policy: ApprovalPolicy) -> NotAllowed:
    """The policy gives this to nobody."""
    names = mentions(policy.approvers)
    happened = "Nobody can veto here." if what == "veto" else "There is no emergency approval here."
    return NotAllowed(
        why="no-such-rule",
        happened=happened,
        found="This proposal's policy names nobody for it.",
        remedy=f"Ask {names}." if names else "",
    )


def not_before(view: ProposalView) -> NotAllowed:
    return NotAllowed(why="not-due", happened=f"Nothing is due for “{view.proposal.title}”.")


def settlement_counts(view: ProposalView) -> str:
    """After a person has settled an outcome. `view` is the proposal after it."""
    if view.settled[-1].happened:
        return "Settled: it happened. The execution continues; follow it in the proposal's thread."
    return "Settled: it did not happen. The execution has ended. Collect evidence again, diagnose, and propose the fix."


def approval_counts(view: ProposalView) -> str:
    """After a yes: whether that was enough, and what comes next. `view` is the proposal after it."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    if view.glass is not None:
        return (
            "Emergency approval counts. The channel mentions the owners, and the review asks about it. "
            "The proposer or you can run it now."
        )
    match view.state:
        case ProposalState.PROPOSED:
            needs = missing_in_words(policy, view.approvals)
            return f"Your approval counts. It needs {needs}. {whom_to_ask(policy, proposer, view.approvals)}"
        case ProposalState.HELD if view.held_until is not None:
            return f"Approved. The veto window ends at {view.held_until:%H:%M:%S} UTC; then it can run."
        case _:
            return "Approved. The proposer or an approver can run it now."


HOW_TO_SETTLE = (
    "Check the job yourself. Then an approver settles it with the buttons on the proposal, or with `waterline proposal "
    "settle`."
)


LEFT_TO_PEOPLE = frozenset({"stop-job", "stop-fork", "start-job", "start-from-stop"})
"""Effects on a job: what follows them needs nothing that only the deed could tell, so a person's word is enough."""


class ResolveUnknown(Record):
    """What a person has seen of a step whose outcome is not known."""

    kind: Literal["settle"] = "settle"
    index: int
    """Of the effect."""
    happened: bool
    reason: str
    via: Via = "slack"


def unknown_effect(view: ProposalView) -> int | None:
    """Index of the effect of which nobody knows whether it happened; None where there is none."""
    return view.next_effect if view.state is ProposalState.UNKNOWN else None


def may_be_said_to_have_happened(view: ProposalView, index: int) -> bool:
    """Whether the execution could go on by a person's word alone: not where a later step needs what the table tells."""
    return view.proposal.effects[index].kind in LEFT_TO_PEOPLE


def resolve_unknown(
    view: ProposalView, act: ResolveUnknown, by: UserId, at: Utc, membership: Membership
) -> OutcomeSettled | NotAllowed:
    """By one whom the policy lets approve, not the proposer, with a reason; whatever time it is."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    if by == proposer:
        return NotAllowed(
            why="own-proposal",
            happened="You proposed this, so somebody else must settle whether it happened.",
            remedy=whom_to_ask(policy, proposer),
        )
    allowed = is_approver(policy, by, membership)
    if allowed is None:
        return unreadable(membership)
    if not allowed:
        return NotAllowed(
            why="not-yours",
            happened="You are not an approver for this, so you cannot settle whether it happened.",
            remedy=whom_to_ask(policy, proposer),
        )
    if act.index != unknown_effect(view):
        return where_it_stands(view)
    if act.happened and not may_be_said_to_have_happened(view, act.index):
        return NotAllowed(
            why="not-due",
            happened="You cannot settle that this step happened: the next step needs its result from the table.",
            found="Waterline checks again every few seconds.",
            remedy="Make the catalog readable again. If that is impossible, settle that it did not happen, which "
            "ends the execution.",
        )
    if not act.reason.strip():
        return needs_reason("Settling an outcome", "Say what you checked and what you saw.")
    return OutcomeSettled(
        proposal=view.proposal.id,
        index=act.index,
        happened=act.happened,
        reason=act.reason.strip(),
        by=by,
        at=at,
        via=act.via,
    )


def what_time_does(view: ProposalView, at: Utc) -> ProposalEnded | VetoTimeEnded | ApprovalReminded | NotAllowed:
    """It expires, is released from its hold, or is reminded of; else nothing is due."""
    proposal = view.proposal
    if at >= proposal.expires_at:
        what = "Nobody ran it" if view.state is not ProposalState.PROPOSED else "It was not approved"
        return ProposalEnded(
            proposal=proposal.id, how="expired", reason=f"{what} before {proposal.expires_at:%H:%M} UTC."
        )
    if view.state is ProposalState.HELD and view.held_until is not None and at >= view.held_until:
        return VetoTimeEnded(proposal=proposal.id)
    due = reminder_due_at(view)
    if due is not None and at >= due:
        return ApprovalReminded(proposal=proposal.id, number=view.reminders + 1)
    return not_before(view)


class _Yes(Record):
    digest: str
    via: Via = "slack"
    shown_whole: bool = True
    """Whether the door through which it comes shows all that is approved."""


class Approve(_Yes):
    kind: Literal["approve"] = "approve"


class BreakGlass(_Yes):
    """A yes that is to be enough alone, in an emergency."""

    kind: Literal["break-glass"] = "break-glass"
    reason: str


class Reject(Record):
    """A no, by an approver, or by the proposer who withdraws."""

    kind: Literal["reject"] = "reject"
    reason: str
    via: Via | None = None


class Veto(Record):
    """A no by those who may stop what others approved."""

    kind: Literal["veto"] = "veto"
    reason: str
    via: Via | None = None


class Begin(Record):
    kind: Literal["begin"] = "begin"


class Supersede(Record):
    """The bot found that the world has moved."""

    kind: Literal["supersede"] = "supersede"
    reason: str


class Tick(Record):
    """Time has passed: it may be due to expire, to be released from its hold, or to be reminded of."""

    kind: Literal["tick"] = "tick"


Act = Annotated[
    Approve | BreakGlass | Reject | Veto | Begin | ResolveUnknown | Supersede | Tick, Field(discriminator="kind")
]


Decided = (
    ProposalApproved
    | GlassBroken
    | ProposalEnded
    | VetoTimeEnded
    | ApprovalReminded
    | ExecutionStarted
    | OutcomeSettled
)


_S = ProposalState


_UNDECIDED, _STOPPABLE = frozenset({_S.PROPOSED}), frozenset({_S.PROPOSED, _S.HELD, _S.APPROVED})


ALLOWED: dict[str, frozenset[ProposalState]] = {
    "approve": _UNDECIDED,
    "break-glass": frozenset({_S.PROPOSED, _S.HELD}),
    "reject": _STOPPABLE,
    "veto": _STOPPABLE,
    "begin": frozenset({_S.APPROVED}),
    "settle": frozenset({_S.UNKNOWN}),
    "supersede": _STOPPABLE,
    "tick": _STOPPABLE,
}
"""In which states each act can do something; in any other it is refused with what happened instead."""


def decide(  # noqa: C901 - one case an act, nothing nested
    view: ProposalView, act: Act, *, by: str, at: Utc, membership: Membership = NO_GROUPS
) -> Decided | NotAllowed:
    """The entry to write, or why there is none. `by` is a Slack user id, or `waterline` for the bot's own acts.

    The proposer never approves, also not by breaking the glass; one person counts once, and for one team; the end of
    the term is exclusive.
    """
    if view.state not in ALLOWED[act.kind]:
        return where_it_stands(view)
    if view.proposal.expires_at <= at and not isinstance(act, ResolveUnknown | Supersede | Tick):
        return expired(view)
    who = UserId(by)
    match act:
        case Approve():
            return _approve(view, act, who, at, membership)
        case BreakGlass():
            return _break_glass(view, act, who, at, membership)
        case Reject():
            return _reject(view, act, who, membership)
        case Veto():
            return _veto(view, act, who, membership)
        case Begin():
            return _begin(view, who)
        case ResolveUnknown():
            return resolve_unknown(view, act, who, at, membership)
        case Supersede():
            return ProposalEnded(proposal=view.proposal.id, how="superseded", reason=act.reason)
        case Tick():
            return what_time_does(view, at)
        case _:
            assert_never(act)


def _approve(
    view: ProposalView, act: Approve, by: UserId, at: Utc, membership: Membership
) -> ProposalApproved | NotAllowed:
    policy = view.proposal.policy
    if by == view.proposal.proposed_by:
        return own_proposal(view)
    if any(given.by == by for given in view.approvals):
        return counted_already(view)
    allowed = is_approver(policy, by, membership)
    if not allowed:
        return not_yours(view) if allowed is False else unreadable(membership)
    if (unseen := not_seen(view, act.digest, shown_whole=act.shown_whole)) is not None:
        return unseen
    if at >= last_approval_at(view):
        return too_late_to_hold(view)
    approval = Approval(by=by, at=at, digest=act.digest, teams=teams_of(policy, by, membership), via=act.via)
    is_complete = missing(policy, (*view.approvals, approval)) == (0, 0)
    return ProposalApproved(
        proposal=view.proposal.id,
        approval=approval,
        complete=is_complete,
        held_until=hold_ends_at(policy, at) if is_complete else None,
    )


def _break_glass(
    view: ProposalView, act: BreakGlass, by: UserId, at: Utc, membership: Membership
) -> GlassBroken | NotAllowed:
    policy = view.proposal.policy
    rule = policy.break_glass
    if rule is None:
        return no_such_rule("break-glass", policy)
    if by == view.proposal.proposed_by:
        return own_proposal(view)
    allowed = is_one_of(rule, by, membership)
    if not allowed:
        return not_yours(view, rule) if allowed is False else unreadable(membership)
    if (unseen := not_seen(view, act.digest, shown_whole=act.shown_whole)) is not None:
        return unseen
    if not act.reason.strip():
        return needs_reason("An emergency approval", "Say why it cannot wait for the others.")
    approval = Approval(by=by, at=at, digest=act.digest, teams=teams_of(policy, by, membership), via=act.via)
    return GlassBroken(proposal=view.proposal.id, approval=approval, reason=act.reason.strip(), owners=rule.owners)


def _reject(view: ProposalView, act: Reject, by: UserId, membership: Membership) -> ProposalEnded | NotAllowed:
    if by != view.proposal.proposed_by:
        allowed = _may_reject(view.proposal.policy, by, membership)
        if not allowed:
            return not_yours(view) if allowed is False else unreadable(membership)
    if not act.reason.strip():
        return needs_reason("A rejection", "Say in a sentence what should change.")
    return ProposalEnded(proposal=view.proposal.id, how="rejected", reason=act.reason.strip(), via=act.via)


def _may_reject(policy: ApprovalPolicy, by: UserId, membership: Membership) -> bool | None:
    """A no counts for no team, so one group that holds the person is enough to know."""
    found = {is_one_of(people, by, membership) for people in policy.approvers}
    return True if True in found else (None if None in found else False)


def _veto(view: ProposalView, act: Veto, by: UserId, membership: Membership) -> ProposalEnded | NotAllowed:
    rule = view.proposal.policy.veto
    if rule is None:
        return no_such_rule("veto", view.proposal.policy)
    allowed = is_one_of(rule, by, membership)
    if not allowed:
        return not_yours(view, rule) if allowed is False else unreadable(membership)
    if not act.reason.strip():
        return needs_reason("A veto", "Say in a sentence why it should not run.")
    return ProposalEnded(proposal=view.proposal.id, how="vetoed", reason=act.reason.strip(), via=act.via)


def _begin(view: ProposalView, by: UserId) -> ExecutionStarted | NotAllowed:
    allowed = dict.fromkeys((view.proposal.proposed_by, *(given.by for given in view.approvals)))
    if by not in allowed:
        names = " or ".join(f"<@{user}>" for user in allowed)
        return NotAllowed(
            why="not-yours", happened="Only the proposer or an approver may run it.", remedy=f"Ask {names}."
        )
    if any(given.digest != view.proposal.digest for given in view.approvals):
        return not_as_approved(view)
    return ExecutionStarted(proposal=view.proposal.id)
