"""Whether a proposal takes away what no undo brings back: then its action has to be declared destructive."""

from bot.domain.action import Action
from bot.domain.effects import DropBranch, Effect, StopFork
from bot.domain.errors import Refused
from bot.domain.ids import short_job
from bot.domain.proposal import FINAL, Proposal


def must_be_destructive(proposal: Proposal, action: Action) -> None:
    """Raises Refused where it takes something away for good, or says so, and its action is not declared destructive:
    people would approve it as if it could be taken back."""
    if action.is_destructive:
        return
    taken = [said for effect in proposal.effects if (said := _takes_away(effect))]
    if proposal.is_final:
        taken.append(f"its undo says “{FINAL}”")
    if taken:
        raise Refused(
            f"“{proposal.title}” cannot be proposed: two teams have to approve it, and its action does not say so.",
            f"Expected is_destructive=True of {action.name}; found that {'; '.join(taken)}.",
            "Set is_destructive=True in its ACTION.",
        )


def _takes_away(effect: Effect) -> str:
    """One clause; empty where an undo brings back what it does."""
    match effect:
        case DropBranch(branch=branch):
            return f"it removes branch {branch}, which nothing makes again"
        case StopFork(job_id=run):
            return f"it stops run {short_job(run)} of two writers, and Waterline starts no second one"
    return ""
