"""Forward: the table is right, the job is not. Keep the table, restore the job from the point that pairs with its head.

Asked for where a run looks for a Flink manifest that is gone for ever (facts F7, F9): it fails at every restart, while
another restore point of the job fits the table as it is.
"""

from bot.actions._support.draft import live_run
from bot.actions._support.recipes import started_on_pair
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal

ACTION = Action(
    name="restore_job_at_head",
    title="Restore the job at the head of main",
    promise="The job continues from the restore point that pairs with the table. The table does not change.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when nothing pairs with the head or several runs are alive, CouldNotLook when Flink was not
    seen."""
    return started_on_pair(plan, ACTION, live_run(plan))
