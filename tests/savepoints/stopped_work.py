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
from bot.observation.ids import JobId, SnapshotId
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
