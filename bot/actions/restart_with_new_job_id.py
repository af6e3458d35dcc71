"""Restart under a new job id: the V2 sink drops every checkpoint up to the newest one that it finds under the old id.

Each start by Waterline is under an id of its own, so the drop ends with the start. From the point that pairs with the
head the source reads again whatever was dropped since; nothing has to be brought back by hand then (facts 0.7, F3, F4).
"""

from bot.actions._support.draft import live_run
from bot.actions._support.recipes import started_on_pair
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal

ACTION = Action(
    name="restart_with_new_job_id",
    title="Restart under a new job id",
    promise="The job commits again, and reads again the rows that its sink dropped.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """Raises Refused when nothing pairs with the head or several runs are alive, CouldNotLook when Flink was not
    seen."""
    return started_on_pair(plan, ACTION, live_run(plan))
