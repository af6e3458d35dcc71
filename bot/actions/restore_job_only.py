"""Restore the job only: no snapshot advanced and the table is right, so nothing is rolled back."""

from bot.actions._draft import job_and_head, live_run
from bot.actions._restarting import started_from_stop, started_on_head
from bot.actions._restore_points import RestorePoint, pair_with_head
from bot.domain.action import Action, Plan
from bot.domain.errors import CouldNotLook
from bot.domain.findings import PairVerdict
from bot.domain.ids import CheckpointId
from bot.domain.own_points import pairings_of
from bot.domain.pairing import owed_checkpoints
from bot.domain.proposal import Proposal

ACTION = Action(
    name="restore_job_only",
    title="Restore the job",
    promise="The job goes on where the table ends; the table is not touched.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(("duplicate_rows", "No row is there twice"), ("missing_positions", "No row is missing")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """From the newest point: one that still owes files which are all there, else one that pairs with the head. A run
    that is settled is stopped with a savepoint and goes on from that.

    Raises Refused when no point fits, CouldNotLook when Flink was not seen or nobody looked what a restore brings back.
    """
    live = live_run(plan)
    if live is not None and live.is_settled:
        return started_from_stop(plan, ACTION, live)
    ahead = _ahead(plan)
    if ahead is not None:
        return started_on_head(plan, ACTION, ahead, live)
    return started_on_head(plan, ACTION, pair_with_head(plan.case, live), live)


def _ahead(plan: Plan) -> RestorePoint | None:
    """The newest restore point whose files have not reached the table, if all of them are there; None without any."""
    _job, head = job_and_head(plan, ACTION)
    newer = [p for p in pairings_of(plan.case) if p.verdict is PairVerdict.AHEAD and p.is_durable]
    if not newer:
        return None
    if plan.case.recovery_extent is None:
        raise CouldNotLook(
            "Nobody has looked yet what a restore would bring back.",
            f"{newer[0].path} is newer than the table; expected to know whether the files that it owes are there.",
            "Run the evidence recovery_extent, then propose again.",
        )
    brings = {reach.path for reach in plan.case.recovery_extent.points if reach.brings_back}
    for each in newer:
        if each.path in brings and each.checkpoint_id is not None and each.digest is not None:
            return RestorePoint(
                path=each.path,
                checkpoint_id=each.checkpoint_id,
                snapshot_id=head,
                digest=each.digest,
                owes=_newest_owed(plan, each.path) or each.checkpoint_id,
            )
    return None


def _newest_owed(plan: Plan, path: str) -> CheckpointId | None:
    """A savepoint may come after checkpoints that brought files, and hold none of its own."""
    observed = plan.case.observation
    stored = next((each for each in observed.checkpoints.values if each.path == path), None)
    owed = owed_checkpoints(stored, observed.table) if stored is not None else None
    return CheckpointId(max(owed)) if owed else None
