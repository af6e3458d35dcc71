"""Restore the job only: no snapshot advanced and the table is right, so nothing is rolled back.

A finding that says so may be older than what another run has committed since: its rows would be read again.
"""

import re
from collections.abc import Iterator

from bot.actions._draft import job_and_head, live_run
from bot.actions._restarting import started_from_stop, started_on_head
from bot.actions._restore_points import pair_with_head
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import CouldNotLook
from bot.domain.evidence import Observation
from bot.domain.findings import PairVerdict
from bot.domain.flink import StoredCheckpoint
from bot.domain.guests import commits_that_bind
from bot.domain.ids import CheckpointId
from bot.domain.looked import NotSeen
from bot.domain.own_points import EndOfMain, points_told_apart
from bot.domain.pairing import owed_checkpoints, owed_to
from bot.domain.proposal import Proposal
from bot.domain.restore_points import RestorePoint
from bot.domain.table import Snapshot

_OWED = re.compile(r"(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-\d{5}-\d+-(?P<checkpoint>\d+)-")


def brought_by(case: Case) -> Iterator[RestorePoint]:
    """The durable points, newest first, that go on right above main's newest commit that binds, and whose owed Flink
    manifests are on storage. None where another run has that commit, or where main lost a later one of the same run:
    the state goes on from rows that main does not have. None where the manifests were not seen."""
    commits, world = commits_that_bind(case), case.observation
    if not commits or isinstance(world.flink_manifests, NotSeen):
        return
    end = EndOfMain(case)
    for stored, pair in points_told_apart(case):
        is_newer = pair.verdict is PairVerdict.AHEAD and pair.is_durable and stored.is_committer_read
        if not is_newer or stored.checkpoint_id is None or stored.digest is None:
            continue
        owed = owed_checkpoints(stored, world.table)
        if owed and end.is_of(stored.job_id) and _is_all_there(stored, commits[-1], world):
            yield RestorePoint(
                path=stored.path,
                checkpoint_id=stored.checkpoint_id,
                snapshot_id=commits[-1].snapshot_id,
                digest=stored.digest,
                owes=CheckpointId(max(owed)),
            )


def _is_all_there(stored: StoredCheckpoint, newest: Snapshot, world: Observation) -> bool:
    """At or below what main has of the run, the sink looks for none."""
    there = {each.path.rsplit("/", 1)[-1] for each in world.flink_manifests.values}
    for name in owed_to(world.table, stored):
        told = _OWED.match(name)
        if told is None or (name not in there and int(told["checkpoint"]) > (newest.checkpoint_id or 0)):
            return False
    return True


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
    if live is not None and live.is_settled:
        return started_from_stop(plan, ACTION, live)
    ahead = _ahead(plan)
    if ahead is not None:
        return started_on_head(plan, ACTION, ahead, live)
    return started_on_head(plan, ACTION, pair_with_head(plan.case, live), live)


def _ahead(plan: Plan) -> RestorePoint | None:
    """The newest restore point whose files have not reached the table, if all of them are there, by the evidence and by
    what is seen now; None without any."""
    _job, head = job_and_head(plan, ACTION)
    newer = list(brought_by(plan.case))
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
