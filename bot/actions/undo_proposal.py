"""Undo an earlier proposal, as far as it came: built from what its steps have left in the record and on storage."""

from bot.actions._undoing import undone
from bot.domain.action import Action, Plan
from bot.domain.errors import Refused
from bot.domain.proposal import Proposal

ACTION = Action(
    name="undo_proposal",
    title="Undo",
    promise="Table and job are as they were before the undone proposal. The fault that it fixed is back as well.",
    needs=(),
    proofs=(),
    on_request=True,
    moves_waterline="under-review",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when it cannot be undone, with the reason; CouldNotLook when Flink was not seen."""
    if plan.undoes is None:
        raise Refused("An undo needs a proposal to undo.", "None was named.", "Type /waterline undo in the channel.")
    return undone(plan, ACTION, plan.undoes)
