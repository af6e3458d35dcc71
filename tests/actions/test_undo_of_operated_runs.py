"""A Flink Kubernetes operator chooses the ids of runs: an undo knows the run of its start by what was noted then."""

from typing import Any

import pytest

from bot.actions import restart_from_stop_savepoint, undo_proposal
from bot.domain.errors import CouldNotLook
from bot.domain.execution import ProposalState
from bot.domain.flink import JobRun
from bot.domain.ids import JobId
from tests.actions.scene import Scene


def own(asked: JobId) -> JobId:
    """The id that the operator chooses."""
    return JobId(f"00000000{asked[8:]}")


def test_the_commits_of_a_run_whose_cluster_is_gone_are_no_strangers(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody suspended the deployment after our start: only the resource is left, and it knows no id of ours."""
    little, asked, gone = scene.flink, set[JobId](), False
    start, run = little.start, little.run

    def starts(name: str, path: str, job_id: JobId, **how: Any) -> None:
        asked.add(job_id)
        start(name, path, own(job_id), **how)

    def tells(job_id: JobId) -> JobRun | None:
        if job_id in asked and gone:
            raise CouldNotLook("Flink does not answer.", "Connection refused.", "Look at the cluster.")
        return run(own(job_id) if job_id in asked else job_id)

    monkeypatch.setattr(little, "start", starts)
    monkeypatch.setattr(little, "run", tells)
    first = scene.plan()
    done = scene.carries_out(restart_from_stop_savepoint.propose(first), first)
    assert done.state is ProposalState.APPLIED
    little.ends(own(next(iter(asked))), "CANCELED")
    gone = True
    plan = scene.plan(undoes=done.proposal.id, number=2)
    gone = False

    view = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(50))
