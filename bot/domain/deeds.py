"""What proposals have changed, and what of it an undo could still take back. Pure."""

from bot.domain.effects import DropBranch, MoveFiles, StopFork
from bot.domain.entries import EffectEnded
from bot.domain.execution import ProposalView
from bot.domain.incident import Incident

UNDO = "undo_proposal"
"""The action that takes another one back."""
ASKED = "asked"
"""In place of a failure mode's code: a responder asked for it, and no diagnosis did."""
_FINAL = (StopFork, DropBranch)
"""Effects that no undo takes back."""


def deeds_of(view: ProposalView) -> dict[int, EffectEnded]:
    """The effects that have changed something, with their ends: those that were done, and a move of files that has
    moved some of them or of which nobody knows."""
    return {
        index: ended
        for index, ended in view.done.items()
        if ended.how == "done" or ended.result or _is_half_known(view, ended)
    }


def undo_left(incident: Incident) -> ProposalView | None:
    """The newest proposal that has changed something, where an undo may take it back, as long as the incident is open;
    None: nothing was changed, it was taken back, or it is final."""
    newest = next((view for view in reversed(incident.proposals.values()) if has_changed(view)), None)
    if newest is None or newest.proposal.action == UNDO:
        return None
    return None if any(isinstance(effect, _FINAL) for effect in newest.proposal.effects) else newest


def has_changed(view: ProposalView) -> bool:
    """Whether it has changed something beside the freeze of maintenance, which ends by itself."""
    return any(view.proposal.effects[index].kind != "freeze-maintenance" for index in deeds_of(view))


def _is_half_known(view: ProposalView, ended: EffectEnded) -> bool:
    return ended.how == "unknown" and isinstance(view.proposal.effects[ended.index], MoveFiles)
