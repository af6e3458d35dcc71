"""Free the checkpoint folders: checkpoints fail because an earlier start under this job id has used their numbers.

No folder is moved: a new job id has a folder of its own, and each start by Waterline is under a new one (facts F25).
"""

from bot.actions._draft import live_run
from bot.actions._recipes import started_from_stop, started_on_head
from bot.actions._restore_points import pair_with_head
from bot.domain.action import Action, Plan
from bot.domain.proposal import Proposal

ACTION = Action(
    name="free_checkpoint_folder",
    title="Restart with new checkpoint folders",
    promise="Checkpoints complete again, in folders that no run has used before.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """From the stop of a settled run (a savepoint lies in another folder), else from the point that pairs with the
    head. Raises Refused when none does or several runs are alive, CouldNotLook when Flink was not seen."""
    live = live_run(plan)
    if live is not None and live.is_settled:
        return started_from_stop(plan, ACTION, live)
    return started_on_head(plan, ACTION, pair_with_head(plan.case, live), live)
