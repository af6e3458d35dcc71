"""Roll back table and job together: the one recipe that loses nothing and repeats nothing.

Rolling a table back under a running job leaves a hole, restoring a job against a table that does not pair
loses or repeats data (facts 0.1 to 0.4). So both move in one proposal: stop the wrong run, move `main` by
compare-and-swap to the snapshot that pairs with restore point M, start the job from M.
"""

from itertools import takewhile

from bot.actions._support.draft import live_run
from bot.actions._support.recipes import left_behind, must_be_chosen, rewound, rows_of_others
from bot.actions._support.restore_points import newest_pair
from bot.history.other_writers import brings_nothing, described_by, keeps_its_rows
from bot.history.ranking import for_rewind
from bot.history.restore import RestorePoint
from bot.incident.action import Action, Plan
from bot.incident.diagnosis import LastGoodRows
from bot.incident.doubt import ACCUSERS
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused
from bot.observation.ids import SnapshotId
from bot.observation.table import Snapshot, TableState

ACTION = Action(
    name="roll_back_table_and_restore_job",
    title="Roll back table and job",
    promise="The table has every source position exactly once, and the job continues from there.",
    needs=("ledger", "checkpoint_pairing"),
    on_request=True,
    drops_others=True,
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    repairs=ACCUSERS,
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """The rewind to the newest durable restore point that pairs at or below the last good snapshot; main goes to that
    snapshot, where nothing above the point's table state is brought again.

    Raises Refused when no restore point pairs, the job is not configured, or rows of other writers would go unasked;
    CouldNotLook when Flink was not seen.
    """
    if plan.match.last_good is None:
        raise Refused(
            "Rolling back table and job cannot be proposed for this table.",
            "Expected a last good snapshot; the diagnosis names none.",
            "Widen the window and diagnose again, or repair by hand.",
        )
    point = newest_pair(plan.case, plan.match.last_good)
    to = _farthest(plan.case.observation.table, point, plan.match.last_good)
    others = rows_of_others(plan, left_behind(plan.case.observation.table, to), point)
    must_be_chosen(plan, others)
    proposal = rewound(
        plan,
        ACTION,
        to,
        point,
        live_run(plan),
        title=f"{ACTION.title} to checkpoint {point.checkpoint_id}",
        others=others,
        passed=for_rewind(plan.case, plan.match.last_good).passed_over(point.path),
    )
    lies_above = plan.match.last_good_rows is LastGoodRows.CLEAN  # all that was found wrong
    return proposal if lies_above else proposal.model_copy(update={"repairs": ()})


def _farthest(table: TableState, point: RestorePoint, last_good: SnapshotId) -> SnapshotId:
    """The last good snapshot itself, where nothing between the table state of `point` and it may hold rows that a job
    started from `point` brings again: the point pairs right through, and approved repairs stay. Else that table
    state."""
    above = takewhile(lambda s: s.snapshot_id != point.snapshot_id, table.ancestors(last_good))
    if point.brings_again is None and all(s.job_id is None and _stays_beside(table, s) for s in above):
        return last_good
    return point.snapshot_id


def _stays_beside(table: TableState, commit: Snapshot) -> bool:
    """Whether the job brings none of its rows, as far as `brings_again` tells, which knows of picks of the job's
    commits and of what repairs say. A replay, which says nothing, may hold rows of the job's own source; another
    engine's load is taken for rows of its own, as by a start of the job above it."""
    if keeps_its_rows(table, commit) or brings_nothing(table, commit) or not commit.counted("added-records"):
        return True
    origin = described_by(table, commit)
    if origin is None:
        return False
    if origin.job_id is not None:
        return origin.checkpoint_id is not None
    return not origin.is_repair or origin.written is not None or origin.brings_others
