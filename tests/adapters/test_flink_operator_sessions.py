"""A session job goes by the settings of its session cluster, too, and its own are over them."""

from typing import Any

import pytest

from bot.adapters.flink_operator import FlinkOperator
from bot.domain.errors import CommitRefused, CouldNotLook, Superseded
from tests.adapters.flink_wire import Wire, body
from tests.adapters.recorded_runs import RUN_21
from tests.adapters.test_flink_operator_restarts import SESSION_JOB
from tests.adapters.test_flink_operator_restarts import session_job as session_job
from tests.adapters.test_flink_operator_says_no import JOB, OURS, PATH, RESOURCE, resource
from tests.adapters.test_flink_reading import F21
from tests.adapters.test_flink_stop_asked_before import AGAIN, NOT_ASKED, TRIGGER

CLUSTER = f"GET {RESOURCE.replace('orders', 'session')}"
RESTARTS = "kubernetes.operator.job.restart.failed"
NESTED = {"kubernetes": {"operator": {"job": {"restart": {"failed": True}}}}}
CLAIMS = "execution.state-recovery.claim-mode"


def asked(state: str = "RUNNING", **settings: object) -> dict[str, Any]:
    """A FlinkSessionJob on the cluster `session`."""
    told = resource(state, **settings)
    told["spec"]["deploymentName"] = "session"
    return told


def cluster(**settings: object) -> dict[str, Any]:
    """Its FlinkDeployment, which runs no job of its own."""
    metadata = {"uid": "u2", "generation": 1, "resourceVersion": "3"}
    return {"metadata": metadata, "spec": {"flinkConfiguration": settings}}


@pytest.mark.parametrize("settings", [{RESTARTS: "true"}, NESTED], ids=["flat", "nested"])
def test_a_restart_by_the_cluster_is_one(wire: Wire, session_job: FlinkOperator, settings: dict[str, object]) -> None:
    """Nothing is called stopped that starts by itself, and nothing is begun beside it."""
    wire.says(f"GET {SESSION_JOB}", asked("FAILED"))
    wire.says(CLUSTER, cluster(**settings))

    told = session_job.obstacle(JOB)
    with pytest.raises(Superseded, match="the operator is about to start its job"):
        session_job.stop(JOB, RUN_21)

    assert told is not None
    assert f"`{RESTARTS}: true` in the flinkConfiguration of FlinkDeployment session" in told
    assert [] == wire.sent("PATCH")


def test_what_the_job_sets_itself_counts_more(wire: Wire, session_job: FlinkOperator) -> None:
    """The operator puts its settings over the cluster's."""
    wire.says(f"GET {SESSION_JOB}", asked("FAILED", **{RESTARTS: "false", CLAIMS: "NO_CLAIM"}))
    wire.says(CLUSTER, cluster(**{RESTARTS: "true", CLAIMS: "CLAIM"}))

    assert session_job.obstacle(JOB) is None
    assert session_job.stop(JOB, RUN_21).sentence.endswith("nothing was done.")


def test_a_claim_or_a_job_id_of_the_cluster_is_a_no(wire: Wire, session_job: FlinkOperator) -> None:
    """The job is submitted with them."""
    wire.says(f"GET {SESSION_JOB}", asked("FINISHED"))
    wire.says(CLUSTER, cluster(**{CLAIMS: "CLAIM", "$internal.pipeline.job-id": RUN_21}))

    told = session_job.obstacle(JOB)
    with pytest.raises(CommitRefused, match="in the flinkConfiguration of FlinkDeployment session keeps the old one"):
        session_job.start(JOB, PATH, OURS)

    assert told == (
        f"`{CLAIMS}: CLAIM` in the flinkConfiguration of FlinkDeployment session, by which Flink deletes what it "
        "starts from"
    )
    assert [] == wire.sent("PATCH")


@pytest.mark.parametrize("status", [403, 404])
def test_settings_that_cannot_be_seen_are_not_taken_for_none(
    wire: Wire, session_job: FlinkOperator, status: int
) -> None:
    """A right that was narrowed to the job: said with what to do, before anything is done."""
    wire.says(f"GET {SESSION_JOB}", asked("FAILED"))
    wire.says(CLUSTER, (status, {"message": "no"}))

    for ask in (lambda: session_job.obstacle(JOB), lambda: session_job.stop(JOB, RUN_21)):
        with pytest.raises(CouldNotLook, match=rf"FlinkDeployment streaming/session.*HTTP {status}.*right to get it"):
            ask()

    assert [] == wire.sent("PATCH")


def test_what_needs_no_setting_does_not_need_the_cluster(wire: Wire, session_job: FlinkOperator) -> None:
    """Whether a start is still asked for is told all the same, and the declaration is the job's own."""
    wire.says(f"GET {SESSION_JOB}", asked("FAILED"))
    wire.says(CLUSTER, (403, {"message": "no"}))
    unseen = session_job.declaration(JOB)
    wire.says(CLUSTER, cluster(a="b"))

    assert unseen == session_job.declaration(JOB)
    assert session_job.still_asked_to_start(OURS) is None


def test_a_stop_that_is_at_work_is_told(wire: Wire, session_job: FlinkOperator) -> None:
    """It was asked of Flink itself, which may end the run yet; the resource says nothing of it."""
    wire.says(f"GET {SESSION_JOB}", asked("RUNNING"))
    wire.says(CLUSTER, cluster())
    wire.says(TRIGGER, {"status": {"id": "IN_PROGRESS"}})
    wire.says(AGAIN, NOT_ASKED)

    assert session_job.still_asked_to_stop(RUN_21) is None
    told = session_job.stop_at_work(RUN_21)
    assert told is not None
    assert "stop-with-savepoint" in told


@pytest.mark.parametrize("told", [body(F21, "stop_failed"), NOT_ASKED], ids=["it failed", "it was never asked for"])
def test_a_stop_that_is_over_is_not_at_work(wire: Wire, session_job: FlinkOperator, told: Any) -> None:
    """What was refused then may be proposed anew."""
    wire.says(TRIGGER, told)
    wire.says(AGAIN, NOT_ASKED)

    assert session_job.stop_at_work(RUN_21) is None
