"""Why an act on a proposal is not done, in words for whoever did it: who decided what, whom to ask, what to do.

What a person is told whose act on a proposal counted.
"""

from typing import Literal

from bot.domain.approval import ApprovalPolicy, People, mentions, missing_in_words, whom_to_ask
from bot.domain.approval_times import Membership, last_approval_at
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.journal import WATERLINE
from bot.domain.record import Record

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
