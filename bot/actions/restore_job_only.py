"""Restore the job only: no snapshot advanced and the table is right, so nothing is rolled back.

A finding that says so may be older than what another run has committed since: its rows would be read again.
"""

from bot.actions._support.draft import job_and_head, live_run
from bot.actions._support.recipes import restarted, started_on_head
from bot.history.ranking import where_files_wait
from bot.history.restore import RestorePoint
from bot.incident.action import Action, Plan
from bot.incident.proposal import Proposal
from bot.observation.errors import CouldNotLook

ACTION = Action(
    name="restore_job_only",
    title="Restore the job",
    promise="The job continues where the table ends. The table does not change.",
    needs=("ledger", "checkpoint_pairing"),
    proofs=(("duplicate_rows", "No duplicate rows"), ("missing_positions", "No missing rows")),
    moves_waterline="trusted",
)


def propose(plan: Plan) -> Proposal:
    """From the newest point: one that still owes files which are all there, where only its own run has gone on until
    now, else one that pairs with the head. A run that is settled is stopped with a savepoint and goes on from that.

    Raises Refused when no point fits, CouldNotLook when Flink was not seen or nobody looked what a restore brings back.
    """
    live = live_run(plan)
    ahead = _ahead(plan) if live is None or not live.is_settled else None
    if ahead is not None:
        return started_on_head(plan, ACTION, ahead, live)
    return restarted(plan, ACTION, live)


def _ahead(plan: Plan) -> RestorePoint | None:
    """The newest restore point whose files have not reached the table, if all of them are there, by the evidence and by
    what is seen now; None without any."""
    _job, head = job_and_head(plan, ACTION)
    newer = where_files_wait(plan.case).points
    if not newer:
        return None
    if plan.case.recovery_extent is None:
        raise CouldNotLook(
            "It is not known yet what a restore would bring back.",
            f"{newer[0].path} is newer than the table. Expected the evidence recovery_extent to say which rows a "
            "start from it brings; it was not collected.",
            "Run the evidence recovery_extent, then propose again.",
        )
    brings = {reach.path for reach in plan.case.recovery_extent.points if reach.brings_back}
    return next((each.model_copy(update={"snapshot_id": head}) for each in newer if each.path in brings), None)
