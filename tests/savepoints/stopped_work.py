"""Planned work for which the job was stopped, in each way in which that can end, and the world after it."""

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.effects import KeepSavepoint, StopJob
from bot.incident.entries import (
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    ExecutionStarted,
    OutcomeSettled,
    ProposalMade,
)
from bot.incident.proposal import HeadDescends
from bot.observation.evidence import Observation
from bot.observation.flink import FlinkManifest, JobRun
from bot.observation.ids import JobId, SnapshotId
from bot.observation.looked import Seen
from bot.observation.snapshot import Snapshot
from tests import orders_table as orders
from tests.decisions import ANA, BEN, PROPOSAL, rewind
from tests.incidents import Story
from tests.savepoints.test_announced import ANNOUNCED, PLAN, says

AFTER = SnapshotId(orders.GOOD + 1000)
"""The only commit above the savepoint's snapshot, where a test makes one."""
STOP = StopJob(job=orders.JOB, job_id=JobId(orders.RUN_A), needs_state=True)
KEEP = KeepSavepoint(table=orders.TABLE, job=orders.JOB, job_id=JobId(orders.RUN_A), tagged="20261103", plan=PLAN)


@pytest.fixture
def planned(record: Store) -> Story:
    """Ana has planned a savepoint, and its consumers know of it."""
    return says(Story(record.journal).opens(planned=True).says(PLAN, by=ANA), ANNOUNCED)


def begins(story: Story) -> Story:
    """The stop is under way."""
    approved = HeadDescends(head=orders.GOOD, job_id=JobId(orders.RUN_A), starts=orders.JOB)
    changes = {"effects": (STOP, KEEP), "action": "take_savepoint", "requirements": (approved,)}
    made = rewind(story.now).model_copy(update=changes)
    story.says(ProposalMade(step=None, proposal=made), by=ANA).says(ExecutionStarted(proposal=PROPOSAL), by=BEN)
    return story.says(EffectStarted(proposal=PROPOSAL, index=0))


def stops(story: Story, how: str = "done") -> Story:
    """The stop has ended so."""
    ended = {"proposal": PROPOSAL, "index": 0, "how": how, "detail": "Stopped with a savepoint."}
    return begins(story).says(EffectEnded.model_validate(ended))


def refused(story: Story) -> Story:
    """The job was stopped, and its savepoint does not pair."""
    stops(story).says(EffectStarted(proposal=PROPOSAL, index=1))
    story.says(EffectEnded(proposal=PROPOSAL, index=1, how="refused", detail="It does not pair."))
    return story.says(ExecutionEnded(proposal=PROPOSAL, outcome="refused", sentence="It does not pair."))


def unknown(story: Story) -> Story:
    """Whether the job was stopped is not known."""
    return stops(story, "unknown").says(ExecutionEnded(proposal=PROPOSAL, outcome="unknown", sentence="Nobody knows."))


def settled(story: Story, *, happened: bool) -> Story:
    said = {"index": 0, "happened": happened, "reason": "I looked.", "by": BEN, "at": story.now}
    return story.says(OutcomeSettled.model_validate({"proposal": PROPOSAL, **said}), by=BEN)


def run(job_id: str, **changes: object) -> JobRun:
    return orders.run_b(job_id=JobId(job_id), **changes)


def commit(**changes: object) -> Snapshot:
    """The commit that follows on run A's last."""
    like = next(each for each in orders.table_state().snapshots if each.snapshot_id == orders.HEAD)
    return like.model_copy(update={"snapshot_id": AFTER, "parent_id": orders.GOOD, "sequence_number": 7, **changes})


def world(*runs: JobRun, above: tuple[Snapshot, ...] = (), **seen: object) -> Observation:
    """These runs; main is run A's, and this above it."""
    table = orders.table_state()
    line = tuple(each for each in table.snapshots if each.job_id == orders.RUN_A) + above
    table = table.model_copy(update={"snapshots": line, "head": line[-1].snapshot_id, "head_moves": ()})
    manifests: Seen[FlinkManifest] = Seen(source="storage", values=())
    jobs = Seen(source="Flink REST", values=runs)
    changes = {"table": table, "jobs": jobs, "flink_manifests": manifests, **seen}
    return orders.observation().model_copy(update=changes)


WITHOUT_RUN = {"summary": {"total-records": "700", "added-records": "0"}, "operation": "replace"}
OLD_ENDED = run(orders.RUN_A, state="FINISHED")
