"""Rewind table and job together: the one recipe that loses nothing and repeats nothing.

Rolling a table back under a running job leaves a hole, restoring a job against a table that does not pair
loses or repeats data (facts 0.1 to 0.4). So both move in one proposal: stop the wrong run, move `main` by
compare-and-swap to the snapshot that pairs with restore point M, start the job from M.
"""

from bot.actions._draft import live_run
from bot.actions._other_rows import must_be_chosen, rows_of_others
from bot.actions._restore_points import newest_pair
from bot.actions._rewinding import left_behind, rewound
from bot.domain.action import Action, Plan
from bot.domain.errors import Refused
from bot.domain.proposal import Proposal

ACTION = Action(
    name="rewind_table_and_job",
    title="Rewind table and job",
    promise="Every source position is in the table exactly once, and the job goes on from there.",
    needs=("ledger", "checkpoint_pairing"),
    drops_others=True,
    proofs=(("duplicate_rows", "No row is there twice"), ("missing_positions", "No row is missing")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """The rewind to the newest durable restore point that pairs at or below the last good snapshot.

    Raises Refused when no restore point pairs, the job is not configured, or rows of other writers would go unasked;
    CouldNotLook when Flink was not seen.
    """
    if plan.match.last_good is None:
        raise Refused(
            "A rewind cannot be proposed for this table.",
            "Expected a last good snapshot; the diagnosis names none.",
            "Widen the window, diagnose again, or repair by hand.",
        )
    point = newest_pair(plan.case, plan.match.last_good)
    others = rows_of_others(plan, left_behind(plan.case.observation.table, point.snapshot_id), point)
    must_be_chosen(plan, others)
    return rewound(
        plan,
        ACTION,
        point.snapshot_id,
        point,
        live_run(plan),
        title=f"{ACTION.title}: back to checkpoint {point.checkpoint_id}",
        others=others,
    )
