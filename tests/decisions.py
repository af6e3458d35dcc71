"""What the responders of the tests decide on: people, a runbook, three failure modes, and the rewind."""

from datetime import datetime

from bot.incident.approval import ApprovalPolicy
from bot.incident.diagnosis import Mode
from bot.incident.doubt import ACCUSERS
from bot.incident.effects import Effect, MoveTable, StartJob, StopJob
from bot.incident.proposal import (
    HeadDescends,
    Preview,
    Proposal,
    RestorePointIntact,
    RunIsCurrent,
    SnapshotPresent,
    TableIs,
)
from bot.incident.runbook import EvidenceStep, ReviewStep, Runbook
from bot.observation.ids import CheckpointId, EvidenceId, ProposalId, SnapshotId, StepId, UserId
from bot.observation.readers import ReadRun
from tests import orders_table as orders

ANA, BEN, EVE = UserId("U0ANA00001"), UserId("U0BEN00001"), UserId("U0EVE00005")
CHANNEL = "C0ORDERS01"
PROPOSAL = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAB")
HEAD_AFTER = SnapshotId(7211009385562140011)
"""The first commit after the rewind: run C, checkpoint 11."""
RUNBOOK = Runbook(
    id="duplicate-rows",
    title="Consumers see rows twice",
    applies_to=("iceberg",),
    owners=("streaming",),
    steps=(
        EvidenceStep(
            id=StepId("duplicates"), title="Count duplicates", prose="",
            task="duplicate_rows", next=StepId("review"),
        ),
        ReviewStep(id=StepId("review"), title="Review", prose=""),
    ),
    digest="4c1f" * 16,
    text="# Consumers see rows twice\n",
)  # fmt: skip
F2 = Mode(
    code="F2",
    name="restored_from_older_savepoint",
    title="the job was restored from an older savepoint",
    needs=("ledger",),
    false_positives=("A backfill that repeats checkpoint ids on purpose.",),
    neighbours={"F13": "There both write; here one."},
)
F13 = F2.model_copy(update={"code": "F13", "name": "two_writers", "title": "two jobs write the table"})
F18 = F2.model_copy(update={"code": "F18", "name": "source_offsets", "title": "the source started elsewhere"})


def rewind(at: datetime, *, readers_known: bool = True) -> Proposal:
    """Stop run B, move main back to run A's last commit, start from savepoint 10."""
    effects: tuple[Effect, ...] = (
        StopJob(job=orders.JOB, job_id=orders.RUN_B),
        MoveTable(table=orders.TABLE, to=orders.GOOD, keep_head_as="wl-1-left"),
        StartJob(job=orders.JOB, path=orders.SAVEPOINT_10, checkpoint_id=CheckpointId(10)),
    )
    reader = ReadRun(consumer="revenue_daily", run_id="run-42", at=orders.NINE, snapshot_id=orders.HEAD)
    return Proposal(
        id=PROPOSAL,
        action="roll_back_table_and_restore_job",
        title="Roll back table and job to checkpoint 10",
        table=orders.TABLE,
        because="F2: run b92e04 was started from savepoint 6.",
        code="F2",
        effects=effects,
        requirements=(
            TableIs(uuid=orders.UUID),
            RunIsCurrent(job=orders.JOB, job_id=orders.RUN_B),
            HeadDescends(head=orders.HEAD, job_id=orders.RUN_B),
            SnapshotPresent(snapshot_id=orders.GOOD),
            RestorePointIntact(
                job=orders.JOB, path=orders.SAVEPOINT_10, checkpoint_id=CheckpointId(10), digest="e3b0" * 16
            ),
        ),
        preview=Preview(
            commits=3,
            files=6,
            rows=300,
            replayed_from=CheckpointId(10),
            affected_runs=(reader,) if readers_known else (),
            readers_known=readers_known,
            sure="300 rows are removed from main of sales.orders, and the job restarts from checkpoint 10.",
            sentences=("Stop run b92e04.", "Move main to …377421.", "Start from checkpoint 10."),
        ),
        evidence=(EvidenceId("01JBQ5M7Z3T9K4X8V2N6R0PE01"),),
        undo="Move main back to the tag wl-1-left and start from the savepoint of run b92e04.",
        policy=ApprovalPolicy(users=(BEN,)),
        proposed_by=ANA,
        proposed_at=at,
        repairs=ACCUSERS,
    )
