"""A job of the Flink Kubernetes operator, against a real API server with the operator's published schema."""

import pytest

from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_resource import nonce_of
from bot.domain.errors import CouldNotLook, Superseded
from tests.adapters.flink_wire import Wire, tell_run
from tests.adapters.kubernetes import Kubernetes
from tests.adapters.operated_job import JOB, NUMBERS, OURS, PATH, driving, hand, is_asked_to_be, meanwhile, operator
from tests.adapters.operator_hand import OperatorHand
from tests.adapters.recorded_runs import F21, RUN_21
from tests.adapters.serving import unused_address
from tests.adapters.stopped_runs import detail

__all__ = ["hand", "operator"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
"""The API server is compiled once, which takes minutes."""


def test_a_running_job_is_suspended_with_a_savepoint_whatever_its_mode(
    hand: OperatorHand, operator: FlinkOperator
) -> None:
    """The stop is awaited until the operator says that it is done."""
    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, PATH)):
        stopped = operator.stop(JOB, RUN_21)

    now = hand.resource
    assert PATH == stopped.savepoint
    assert f"suspended by the operator with savepoint {PATH}. It is FINISHED." in stopped.sentence
    assert ("suspended", "savepoint") == (now["spec"]["job"]["state"], now["spec"]["job"]["upgradeMode"])
    assert operator.stop(JOB, RUN_21).sentence.endswith("nothing was done.")
    assert now == hand.resource


def test_a_job_that_cannot_take_a_savepoint_is_suspended_by_its_last_state(
    hand: OperatorHand, operator: FlinkOperator
) -> None:
    """Never stateless: whoever resumes it would start from nothing. An old savepoint is not told as a new one."""
    hand.runs(RUN_21, "RESTARTING", upgradeSavepointPath="s3://old")

    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, "s3://old")):
        stopped = operator.stop(JOB, RUN_21)

    assert "last-state" == hand.resource["spec"]["job"]["upgradeMode"]
    assert stopped.savepoint is None


def test_a_start_restores_from_exactly_the_point_that_was_approved(
    hand: OperatorHand, operator: FlinkOperator, wire: Wire
) -> None:
    """Path and nonce in one change, and the mode stays as it is; the run is told by the operator's id under ours."""
    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21)):
        operator.stop(JOB, RUN_21)

    with meanwhile(is_asked_to_be(hand, "running"), lambda: hand.runs(RUN_21)):
        operator.start(JOB, PATH, OURS)

    job = hand.resource["spec"]["job"]
    run = operator.run(OURS)
    assert (PATH, nonce_of(OURS), "running") == (
        job["initialSavepointPath"],
        job["savepointRedeployNonce"],
        job["state"],
    )
    assert ("savepoint", False) == (job["upgradeMode"], job["allowNonRestoredState"])
    assert run is not None
    assert RUN_21 == run.job_id


def test_a_start_that_is_repeated_is_one_deployment(hand: OperatorHand, operator: FlinkOperator) -> None:
    """The nonce follows from our id: the second request finds it there and changes nothing."""
    hand.runs(RUN_21, "FAILED")
    with meanwhile(lambda: "savepointRedeployNonce" in hand.resource["spec"]["job"], lambda: hand.runs(RUN_21)):
        operator.start(JOB, PATH, OURS)
    generation = hand.resource["metadata"]["generation"]

    operator.start(JOB, PATH, OURS)

    assert generation == hand.resource["metadata"]["generation"]


def test_a_job_that_runs_is_not_started_over(hand: OperatorHand, operator: FlinkOperator) -> None:
    """A redeploy would cancel it: nobody approved that."""
    before = hand.resource

    with pytest.raises(Superseded, match=r"was not started: the operator reports that it runs.*job RUNNING"):
        operator.start(JOB, PATH, OURS)

    assert before == hand.resource


def test_another_run_is_not_stopped_in_its_place(hand: OperatorHand, operator: FlinkOperator) -> None:
    """The operator redeployed since: the approval was for another run."""
    hand.runs("f" * 32)

    with pytest.raises(Superseded, match="Expected run 5457e3; found ffffff"):
        operator.stop(JOB, RUN_21)

    assert "running" == hand.resource["spec"]["job"]["state"]


def test_a_suspended_application_whose_cluster_is_gone_has_no_runs(cluster: Kubernetes, hand: OperatorHand) -> None:
    """Flink does not answer because there is none any more; of a running application that is never concluded."""
    with driving(cluster, hand, unused_address()) as operator:
        with pytest.raises(CouldNotLook):
            operator.runs(JOB)
        hand.is_edited({"state": "suspended"})
        hand.suspends(RUN_21)

        runs, ended = operator.runs(JOB), operator.run(RUN_21)

    assert () == runs
    assert ended is not None
    assert ended.is_terminal


def test_a_session_job_is_stopped_by_flink_and_redeployed_by_its_nonce(cluster: Kubernetes, wire: Wire) -> None:
    """Operators before FLINK-40374 cannot redeploy a session job that they suspended; one that ended they can."""
    OperatorHand(cluster, "FlinkDeployment", "session").is_asked({})
    hand = OperatorHand(cluster, "FlinkSessionJob", f"session-{next(NUMBERS)}")
    hand.is_asked({"upgradeMode": "savepoint"})
    hand.runs(RUN_21)
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(f"GET /jobs/{RUN_21}", detail("RESTARTING"), detail("CANCELED", "CANCELED"))
    wire.says(f"PATCH /jobs/{RUN_21}?mode=cancel", (202, {}))
    with driving(cluster, hand, wire.url) as operator:
        stopped = operator.stop(JOB, RUN_21)
        hand.notes("CANCELED")
        with meanwhile(lambda: "savepointRedeployNonce" in hand.resource["spec"]["job"], lambda: hand.runs(RUN_21)):
            operator.start(JOB, PATH, OURS)

    assert "was cancelled without a savepoint" in stopped.sentence
    assert PATH == hand.resource["spec"]["job"]["initialSavepointPath"]
