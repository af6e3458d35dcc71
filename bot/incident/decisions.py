"""The one rule about proposals: what somebody does -> the entry that says so. Raises NotAllowed with why it is not
done.

Slack, the terminal and the bot's own timers all come through `decide`. It is pure: who is in which group, and what time
it is, are told to it. Groups are read at the moment of a click, never remembered.

Beside it stand the words for whoever acted (who decided what, whom to ask, what to do), what falls due by a policy, and
what a person says of a step that no source knows of any more: it happened, or it did not.
"""

from collections.abc import Iterable
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
from bot.incident.execution import UNDECIDED, ProposalState, ProposalView
from bot.incident.journal import WATERLINE
from bot.observation.errors import Refused
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


def is_among(people: Iterable[People], by: UserId, membership: Membership) -> bool | None:
    """Whether `by` is among any of them; None when a group that would tell could not be read."""
    found = {is_one_of(each, by, membership) for each in people}
    return True if True in found else (None if None in found else False)


def is_approver(policy: ApprovalPolicy, by: UserId, membership: Membership) -> bool | None:
    """Whether `by` may approve, whatever the others did; None when that cannot be told.

    Where different teams are asked for, an unread team cannot be told either: the yes might count for it.
    """
    if policy.teams_asked and any(is_one_of(people, by, membership) is None for people in policy.approvers):
        return None
    return is_among(policy.approvers, by, membership)


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


class NotAllowed(Refused):
    """Raised when nothing may be done. `why` is for programs, the rest for the person."""

    def __init__(self, why: Why, happened: str, found: str = "", remedy: str = "") -> None:
        super().__init__(happened, found, remedy)
        self.why = why

    def __reduce__(self) -> tuple[object, ...]:
        return (type(self), (self.why, self.happened, self.found, self.remedy))


def where_it_stands(view: ProposalView) -> NotAllowed:
    """What has become of it meanwhile: by whom, when, and what can be done now."""
    title = f"“{view.proposal.title}”"
    match view.state:
        case ProposalState.PROPOSED:
            return NotAllowed(
                "undecided",
                f"{title} is not approved, so it cannot run.",
                f"It needs {missing_in_words(view.proposal.policy, view.approvals)}.",
                _whom_to_ask(view),
            )
        case ProposalState.HELD:
            until = f"{view.held_until:%H:%M:%S} UTC" if view.held_until else "an unknown time"
            return NotAllowed(
                "held",
                f"{title} is approved already. {approved_by(view)}",
                f"The veto window ends at {until}.",
                "It can run after that.",
            )
        case ProposalState.APPROVED:
            happened = f"{title} is approved already. {approved_by(view)}"
            return NotAllowed("decided", happened, remedy="It can run now.")
        case ProposalState.EXECUTING | ProposalState.APPLIED | ProposalState.REFUSED | ProposalState.UNKNOWN:
            return NotAllowed("begun", f"{title} {_begun(view)}", remedy="Follow it in its thread.")
        case _:
            who = f" by <@{view.ended_by}>" if view.ended_by not in (None, WATERLINE) else ""
            at = f" at {view.ended_at:%H:%M} UTC" if view.ended_at else ""
            return NotAllowed(
                "decided",
                f"{title} was {view.state.value}{who}{at}.",
                view.ended.reason if view.ended else "",
                "Propose it again if it is still needed.",
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


def _whom_to_ask(view: ProposalView) -> str:
    """For another yes."""
    return whom_to_ask(view.proposal.policy, view.proposal.proposed_by, view.approvals)


def _must_be_another(view: ProposalView, by: UserId) -> None:
    if by == view.proposal.proposed_by:
        happened = "You proposed this, so somebody else must approve it."
        raise NotAllowed("own-proposal", happened, remedy=_whom_to_ask(view))


def _must_have_a_say(
    view: ProposalView, has_a_say: bool | None, membership: Membership, rule: People | None = None
) -> None:
    """Nobody is taken for an approver because Slack did not answer. `rule`: who has a say, where it is not the
    approvers."""
    if has_a_say is None:
        raise _unreadable(membership)
    if not has_a_say and rule is None:
        raise NotAllowed("not-yours", "You are not an approver for this.", remedy=_whom_to_ask(view))
    if not has_a_say and rule is not None:
        happened = "This table's policy does not allow you to do this."
        raise NotAllowed("not-yours", happened, remedy=f"Ask {mentions((rule,), (view.proposal.proposed_by,))}.")


def _unreadable(membership: Membership) -> NotAllowed:
    groups = ", ".join(f"<!subteam^{group}>" for group in sorted(membership.unread))
    return NotAllowed(
        "unreadable",
        f"Slack did not return the user group {groups}, so your click cannot count.",
        "Nothing was changed.",
        "Try again, or ask somebody named in the policy.",
    )


def _must_have_seen_it(view: ProposalView, digest: str, *, shown_whole: bool) -> None:
    """A yes counts only for what was shown, all of it. `digest`: of what was shown."""
    if digest != view.proposal.digest:
        raise NotAllowed(
            "another-content",
            "You saw an older version of this proposal.",
            "Nothing was approved.",
            "Look at the newest message of the proposal.",
        )
    if not shown_whole:
        raise NotAllowed(
            "not-shown-whole",
            f"“{view.proposal.title}” is too long for one Slack message, so it cannot be approved there.",
            "Nothing was approved.",
            "Read it with `waterline proposal show` and the incident's id, and decide in the terminal.",
        )


def _reason(given: str, what: str, remedy: str) -> str:
    """A no, and an emergency, are for the record. Raises NotAllowed for a blank one."""
    if not given.strip():
        raise NotAllowed("no-reason", f"{what} needs a reason.", remedy=remedy)
    return given.strip()


def _no_such_rule(happened: str, policy: ApprovalPolicy) -> NotAllowed:
    """The policy gives this to nobody."""
    names = mentions(policy.approvers)
    found = "This proposal's policy names nobody for it."
    return NotAllowed("no-such-rule", happened, found, f"Ask {names}." if names else "")


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
) -> OutcomeSettled:
    """By one whom the policy lets approve, not the proposer, with a reason; whatever time it is. Raises NotAllowed."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    ask = whom_to_ask(policy, proposer)
    if by == proposer:
        happened = "You proposed this, so somebody else must settle whether it happened."
        raise NotAllowed("own-proposal", happened, remedy=ask)
    allowed = is_approver(policy, by, membership)
    if allowed is False:
        happened = "You are not an approver for this, so you cannot settle whether it happened."
        raise NotAllowed("not-yours", happened, remedy=ask)
    _must_have_a_say(view, allowed, membership)
    if act.index != unknown_effect(view):
        raise where_it_stands(view)
    if act.happened and not may_be_said_to_have_happened(view, act.index):
        raise NotAllowed(
            "not-due",
            "You cannot settle that this step happened: the next step needs its result from the table.",
            "Waterline checks again every few seconds.",
            "Make the catalog readable again. If that is impossible, settle that it did not happen, which "
            "ends the execution.",
        )
    reason = _reason(act.reason, "Settling an outcome", "Say what you checked and what you saw.")
    return OutcomeSettled(
        proposal=view.proposal.id, index=act.index, happened=act.happened, reason=reason, by=by, at=at, via=act.via
    )


def what_time_does(view: ProposalView, at: Utc) -> ProposalEnded | VetoTimeEnded | ApprovalReminded:
    """It expires, is released from its hold, or is reminded of. Raises NotAllowed where nothing is due."""
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
    raise NotAllowed("not-due", f"Nothing is due for “{proposal.title}”.")


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


PersonsAct = Approve | BreakGlass | Reject | Veto | ResolveUnknown
"""What a person can decide about a proposal, besides to have it carried out."""
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


ALLOWED: dict[str, frozenset[ProposalState]] = {
    "approve": frozenset({ProposalState.PROPOSED}),
    "break-glass": frozenset({ProposalState.PROPOSED, ProposalState.HELD}),
    "reject": UNDECIDED,
    "veto": UNDECIDED,
    "begin": frozenset({ProposalState.APPROVED}),
    "settle": frozenset({ProposalState.UNKNOWN}),
    "supersede": UNDECIDED,
    "tick": UNDECIDED,
}
"""In which states each act can do something; in any other it is refused with what happened instead."""


def decide(  # noqa: C901 - one case an act, nothing nested
    view: ProposalView, act: Act, *, by: str, at: Utc, membership: Membership = NO_GROUPS
) -> Decided:
    """The entry to write. `by` is a Slack user id, or `waterline` for the bot's own acts. Raises NotAllowed.

    The proposer never approves, also not by breaking the glass; one person counts once, and for one team; the end of
    the term is exclusive.
    """
    if view.state not in ALLOWED[act.kind]:
        raise where_it_stands(view)
    if view.proposal.expires_at <= at and not isinstance(act, ResolveUnknown | Supersede | Tick):
        happened = f"This proposal expired at {view.proposal.expires_at:%H:%M} UTC."
        raise NotAllowed("expired", happened, remedy="Propose it again.")
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


def _approve(view: ProposalView, act: Approve, by: UserId, at: Utc, membership: Membership) -> ProposalApproved:
    policy = view.proposal.policy
    _must_be_another(view, by)
    if any(given.by == by for given in view.approvals):
        raise NotAllowed(
            "counted-already",
            "You have already approved this. Another approver is needed.",
            f"It needs {missing_in_words(policy, view.approvals)}.",
            _whom_to_ask(view),
        )
    _must_have_a_say(view, is_approver(policy, by, membership), membership)
    _must_have_seen_it(view, act.digest, shown_whole=act.shown_whole)
    if at >= last_approval_at(view):
        raise NotAllowed(
            "expired",
            f"This proposal could be approved until {last_approval_at(view):%H:%M} UTC.",
            f"It expires at {view.proposal.expires_at:%H:%M} UTC, before its veto window would end.",
            "Propose it again.",
        )
    approval = Approval(by=by, at=at, digest=act.digest, teams=teams_of(policy, by, membership), via=act.via)
    is_complete = missing(policy, (*view.approvals, approval)) == (0, 0)
    return ProposalApproved(
        proposal=view.proposal.id,
        approval=approval,
        complete=is_complete,
        held_until=hold_ends_at(policy, at) if is_complete else None,
    )


def _break_glass(view: ProposalView, act: BreakGlass, by: UserId, at: Utc, membership: Membership) -> GlassBroken:
    policy = view.proposal.policy
    rule = policy.break_glass
    if rule is None:
        raise _no_such_rule("There is no emergency approval here.", policy)
    _must_be_another(view, by)
    _must_have_a_say(view, is_one_of(rule, by, membership), membership, rule)
    _must_have_seen_it(view, act.digest, shown_whole=act.shown_whole)
    reason = _reason(act.reason, "An emergency approval", "Say why it cannot wait for the others.")
    approval = Approval(by=by, at=at, digest=act.digest, teams=teams_of(policy, by, membership), via=act.via)
    return GlassBroken(proposal=view.proposal.id, approval=approval, reason=reason, owners=rule.owners)


def _reject(view: ProposalView, act: Reject, by: UserId, membership: Membership) -> ProposalEnded:
    """A no counts for no team, so one group that holds the person is enough to know."""
    if by != view.proposal.proposed_by:
        _must_have_a_say(view, is_among(view.proposal.policy.approvers, by, membership), membership)
    reason = _reason(act.reason, "A rejection", "Say in a sentence what should change.")
    return ProposalEnded(proposal=view.proposal.id, how="rejected", reason=reason, via=act.via)


def _veto(view: ProposalView, act: Veto, by: UserId, membership: Membership) -> ProposalEnded:
    rule = view.proposal.policy.veto
    if rule is None:
        raise _no_such_rule("Nobody can veto here.", view.proposal.policy)
    _must_have_a_say(view, is_one_of(rule, by, membership), membership, rule)
    reason = _reason(act.reason, "A veto", "Say in a sentence why it should not run.")
    return ProposalEnded(proposal=view.proposal.id, how="vetoed", reason=reason, via=act.via)


def _begin(view: ProposalView, by: UserId) -> ExecutionStarted:
    """What is on record must be what people said yes to: somebody may have written to the record past the bot."""
    allowed = dict.fromkeys((view.proposal.proposed_by, *(given.by for given in view.approvals)))
    if by not in allowed:
        names = " or ".join(f"<@{user}>" for user in allowed)
        raise NotAllowed("not-yours", "Only the proposer or an approver may run it.", remedy=f"Ask {names}.")
    if any(given.digest != view.proposal.digest for given in view.approvals):
        digests = ", ".join(dict.fromkeys(given.digest[:12] for given in view.approvals))
        raise NotAllowed(
            "another-content",
            f"“{view.proposal.title}” is not what was approved: its record was changed.",
            f"Expected the approved digest {digests}; found {view.proposal.digest[:12]}. Nothing was changed.",
            "Reject it and propose again. `waterline record verify` names the changed entry; report it to whoever "
            "runs the database.",
        )
    return ExecutionStarted(proposal=view.proposal.id)
