"""How far an execution came, in words."""

from bot.actions._effects import describe
from bot.domain.effects import MakeBranch, StartFromStop, StartJob, StopJob
from bot.domain.execution import ProposalView
from bot.domain.ids import short_job


def as_far_as(view: ProposalView, index: int) -> str:
    """What was carried out before effect `index`, and that it and what follows were not; where a run was stopped, how
    the job is started again."""
    steps = [describe(effect) for effect in view.proposal.effects]
    said = f"Carried out: {', '.join(steps[:index]) or 'nothing'}. Not carried out: {', '.join(steps[index:])}."
    return said + _started_again(view, index)


def _started_again(view: ProposalView, index: int) -> str:
    """A sentence that begins with a blank; empty where the job does not stand still for it."""
    before = view.proposal.effects[:index]
    run = next((effect.job_id for effect in before if isinstance(effect, StopJob)), None)
    if run is None or any(isinstance(effect, StartJob | StartFromStop) for effect in before):
        return ""
    stands = f" Run {short_job(run)} is stopped, and its job stands still: "
    if any(isinstance(effect, MakeBranch) for effect in before):
        return f"{stands}`/waterline propose drop_repair_branch` starts it again from a state that pairs with main."
    return f"{stands}`/waterline undo` starts it again from what the stop has left, where that pairs."
