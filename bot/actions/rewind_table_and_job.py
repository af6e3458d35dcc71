"""Rewind table and job together: the one recipe that loses nothing and repeats nothing.

Rolling a table back under a running job leaves a hole, restoring a job against a table that does not pair
loses or repeats data (facts 0.1 to 0.4). So both move in one proposal: stop the wrong run, move `main` by
compare-and-swap to the snapshot that pairs with restore point M, start the job from M.
"""

from itertools import takewhile

from bot.actions._draft import live_run
from bot.actions._other_rows import must_be_chosen, rows_of_others
from bot.actions._restore_points import RestorePoint, newest_pair
from bot.actions._rewinding import left_behind, rewound
from bot.domain.action import Action, Plan
from bot.domain.errors import Refused
from bot.domain.ids import SnapshotId
from bot.domain.proposal import Proposal
from bot.domain.table import TableState

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
    """The rewind to the newest durable restore point that pairs at or below the last good snapshot; main goes to that
    snapshot, where the point pairs with it through what others committed.

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
    to = _farthest(plan.case.observation.table, point, plan.match.last_good)
    others = rows_of_others(plan, left_behind(plan.case.observation.table, to), point)
    must_be_chosen(plan, others)
    return rewound(
        plan,
        ACTION,
        to,
        point,
        live_run(plan),
        title=f"{ACTION.title}: back to checkpoint {point.checkpoint_id}",
        others=others,
    )


def _farthest(table: TableState, point: RestorePoint, last_good: SnapshotId) -> SnapshotId:
    """The last good snapshot itself, where Flink has committed nothing between the table state of `point` and it: the
    point pairs right through what others committed, and approved repairs stay. Else that table state."""
    above = takewhile(lambda s: s.snapshot_id != point.snapshot_id, table.ancestors(last_good))
    if point.brings_again is None and all(s.job_id is None for s in above):
        return last_good
    return point.snapshot_id
