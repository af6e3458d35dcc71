"""How far an execution came, in words."""

from bot.actions._effects import describe
from bot.domain.execution import ProposalView


def as_far_as(view: ProposalView, index: int) -> str:
    """What was carried out before effect `index`, and that it and what follows were not."""
    steps = [describe(effect) for effect in view.proposal.effects]
    return f"Carried out: {', '.join(steps[:index]) or 'nothing'}. Not carried out: {', '.join(steps[index:])}."
