"""What the review asks about decisions: every broken glass, and every outcome that a person settled, is looked at
again, by others, in daylight."""

from bot.domain.approval_count import mentions
from bot.domain.entries import Finding, OutcomeSettled
from bot.domain.execution import ProposalView
from bot.domain.incident import Incident


def approval_terms(incident: Incident) -> tuple[Finding, ...]:
    """One finding for each proposal that somebody approved alone, and for each outcome that somebody settled; none
    where the policy was followed and the world told what happened."""
    alone = (_finding(view) for view in incident.proposals.values() if view.glass is not None)
    settled = (_settled(view, said) for view in incident.proposals.values() for said in view.settled)
    return (*alone, *settled)


def _settled(view: ProposalView, said: OutcomeSettled) -> Finding:
    effect = view.proposal.effects[said.index]
    return Finding(
        contract="approval",
        term="What became of each step of an execution is known from the world.",
        observed=(
            f"<@{said.by}> settled at {said.at:%H:%M} UTC that step {said.index + 1} ({effect.kind}) of "
            f"“{view.proposal.title}” {'happened' if said.happened else 'did not happen'}: {said.reason}"
        ),
        holds=False,
        action=(
            "Let somebody else judge whether it was so, and see to it that the job's cluster remembers its runs: "
            "high availability for the JobManager, or a history server that Waterline can ask."
        ),
    )


def _finding(view: ProposalView) -> Finding:
    assert view.glass is not None
    given, policy = view.glass.approval, view.proposal.policy
    unreached = [page.to for page in view.pages.values() if page.how == "failed"]
    told = f" The page did not reach {', '.join(unreached)}." if unreached else ""
    teams = f" from {policy.teams_asked} teams" if policy.teams_asked else ""
    others = len({each.by for each in view.approvals}) - 1
    return Finding(
        contract="approval",
        term="What is carried out was approved as the table's policy asks.",
        observed=(
            f"<@{given.by}> broke the glass at {given.at:%H:%M} UTC for “{view.proposal.title}”, when "
            f"{others} of {policy.required} approvals{teams} had come: {view.glass.reason}{told}"
        ),
        holds=False,
        action=(
            f"Let {mentions(policy.approvers, (given.by, view.proposal.proposed_by)) or 'the owners'} judge whether it "
            "was right, and mend what kept the approvers from answering."
        ),
    )
