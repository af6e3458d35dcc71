"""Free the checkpoint folders: checkpoints fail because an earlier start under this job id has used their numbers.

No folder is moved: a new job id has a folder of its own, and each start by Waterline is under a new one (facts F25).
"""

from bot.actions._support.draft import live_run
from bot.actions._support.recipes import restarted
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal

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
    return restarted(plan, ACTION, live_run(plan))
