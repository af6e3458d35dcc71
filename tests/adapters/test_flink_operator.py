"""A job of the Flink Kubernetes operator, against a real API server with the operator's published schema."""

from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from ruamel.yaml import YAML

from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_resource import nonce_of
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, Superseded
from tests.adapters.flink_wire import F21, RUN_21, Wire, tell_run
from tests.adapters.kubernetes import Kubernetes
from tests.adapters.operated_job import (
    JOB,
    NUMBERS,
    OURS,
    PATH,
    SAVEPOINTS,
    before_the_next_change,
    driving,
    hand,
    is_asked_to_be,
    meanwhile,
    operator,
    schema,
)
from tests.adapters.operator_hand import NAMESPACE, OperatorHand
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


"""The API server is compiled once, which takes minutes."""


def test_an_edit_in_between_refuses_the_change(cluster: Kubernetes, hand: OperatorHand, wire: Wire) -> None:
    """Between our look and our change somebody edits the resource; the API server refuses, and it is said who."""
    with driving(cluster, hand, wire.url) as operator:
        before_the_next_change(operator, lambda: hand.is_edited({"parallelism": 4}))

        with pytest.raises(Superseded, match=r"was changed by .* at \d\d:\d\d:\d\d UTC.*Waterline changed nothing"):
            operator.stop(JOB, RUN_21)

    job = hand.resource["spec"]["job"]
    assert (4, "running", "last-state") == (job["parallelism"], job["state"], job["upgradeMode"])


def test_a_status_that_moves_in_between_does_not_hinder(
    hand: OperatorHand, operator: FlinkOperator, cluster: Kubernetes
) -> None:
    """The operator writes what it sees every few seconds; only the spec is people's."""
    before_the_next_change(operator, lambda: hand.notes("RUNNING"))

    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, PATH)):
        stopped = operator.stop(JOB, RUN_21)

    assert PATH == stopped.savepoint


def test_an_operator_that_does_not_come_leaves_it_unknown_in_its_own_words(
    hand: OperatorHand, operator: FlinkOperator
) -> None:
    """Neither done nor not done; the responder reads what the operator complains of."""
    with (
        meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.complains("savepoint dir is not set")),
        pytest.raises(OutcomeUnknown, match="which says: savepoint dir is not set"),
    ):
        operator.stop(JOB, RUN_21)


def test_a_lost_answer_is_verified_by_the_resource(
    hand: OperatorHand, cluster: Kubernetes, wire: Wire, operator: FlinkOperator
) -> None:
    """The change arrived though its answer did not: it is found there, and not sent again."""
    sent = _loses_answers(operator)

    with meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, PATH)):
        stopped = operator.stop(JOB, RUN_21)

    assert [200] == sent
    assert PATH == stopped.savepoint


def _loses_answers(operator: FlinkOperator) -> list[int]:
    """The first answer to a change is lost after the API server gave it."""
    sent: list[int] = []

    def lose(response: Any) -> None:
        if response.request.method == "PATCH":
            sent.append(response.status_code)
            response.status_code = 504

    operator._resource._kubernetes._http.event_hooks["response"].append(lose)
    return sent


"""The API server is compiled once, which takes minutes."""
RIGHTS = Path(__file__).parents[2] / "deploy" / "kubernetes" / "flink-operator-rights.yaml"


def test_a_schema_without_the_nonce_refuses_the_whole_start(
    cluster: Kubernetes, hand: OperatorHand, operator: FlinkOperator
) -> None:
    """An old operator would drop the unknown field and start from its own state; the API server is told to refuse."""
    old = schema("FlinkDeployment")
    asked = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["job"]
    del asked["properties"]["savepointRedeployNonce"]
    hand.runs(RUN_21, "FAILED")
    before = hand.resource["spec"]
    cluster.installed(old)
    try:
        _until(lambda: _is_refused(cluster, hand))

        with pytest.raises(CommitRefused, match=r'unknown field "spec\.job\.savepointRedeployNonce"') as refused:
            operator.start(JOB, PATH, OURS)

        assert before == hand.resource["spec"]
        assert SAVEPOINTS["execution.checkpointing.savepoint-dir"] not in str(refused.value)
    finally:
        cluster.installed(schema("FlinkDeployment"))
        _until(lambda: not _is_refused(cluster, hand))


def test_a_stop_that_would_drain_is_refused(cluster: Kubernetes, wire: Wire) -> None:
    """No job goes on from a drained savepoint (F5). The operator's schema takes settings nested, too."""
    hand = OperatorHand(cluster, "FlinkDeployment", f"orders-{next(NUMBERS)}")
    drains = {"kubernetes": {"operator": {"job": {"drain-on-savepoint-deletion": True}}}}
    hand.is_asked({"upgradeMode": "savepoint"}, **drains)
    hand.runs(RUN_21)
    before = hand.resource

    with driving(cluster, hand, wire.url) as operator, pytest.raises(CommitRefused, match="that would drain it"):
        operator.stop(JOB, RUN_21)

    assert before == hand.resource


def test_the_rights_that_we_ship_are_enough_and_not_more(cluster: Kubernetes, hand: OperatorHand, wire: Wire) -> None:
    """With the service account of `deploy/kubernetes`: stop and start, but nothing else."""
    token = _account(cluster)
    with (
        driving(cluster, hand, wire.url, token) as operator,
        meanwhile(is_asked_to_be(hand, "suspended"), lambda: hand.suspends(RUN_21, PATH)),
    ):
        operator.stop(JOB, RUN_21)
    as_us = {"authorization": f"Bearer {token}"}

    refused = {
        verb: cluster.admin.request(verb, path, headers=as_us).status_code
        for verb, path in (("DELETE", hand.path), ("GET", f"/api/v1/namespaces/{NAMESPACE}/secrets"))
    }
    status = cluster.admin.patch(
        f"{hand.path}/status", json={}, headers={**as_us, "content-type": "application/merge-patch+json"}
    )

    assert {"DELETE": 403, "GET": 403} == refused
    assert 403 == status.status_code


def test_no_right_and_no_resource_are_told_with_what_to_do(cluster: Kubernetes, hand: OperatorHand, wire: Wire) -> None:
    """401 and 404 are answers of the API server, in a responder's words."""
    with (
        driving(cluster, hand, wire.url, "not-a-token") as operator,
        pytest.raises(CouldNotLook, match=r"401.*valid token"),
    ):
        operator.stop(JOB, RUN_21)

    gone = OperatorHand(cluster, "FlinkDeployment", "not-there")
    with (
        driving(cluster, gone, wire.url) as operator,
        pytest.raises(CouldNotLook, match=r"404.*Check kind, namespace and name"),
    ):
        operator.stop(JOB, RUN_21)


def _account(cluster: Kubernetes) -> str:
    """A token of the service account, with the role and binding as they are shipped."""
    accounts = "/api/v1/namespaces/waterline/serviceaccounts"
    cluster.asked("POST", accounts, {"metadata": {"name": "waterline"}})
    for told in YAML(typ="safe").load_all(RIGHTS.read_text(encoding="utf-8")):
        path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/{told['kind'].lower()}s"
        cluster.asked("POST", path, told)
    asked = {"spec": {"audiences": ["https://kubernetes.default.svc"]}}
    return str(cluster.asked("POST", f"{accounts}/waterline/token", asked)["status"]["token"])


def _is_refused(cluster: Kubernetes, hand: OperatorHand) -> bool:
    """Whether the schema lacks the nonce by now; asked without changing anything."""
    asked = {"fieldValidation": "Strict", "dryRun": "All"}
    headers = {"content-type": "application/merge-patch+json"}
    body_of_start = {"spec": {"job": {"savepointRedeployNonce": 1}}}
    return not cluster.admin.patch(hand.path, params=asked, json=body_of_start, headers=headers).is_success


def _until(is_so: Callable[[], bool]) -> None:
    for _ in range(200):
        if is_so():
            return
        sleep(0.05)
    raise AssertionError("the schema did not change")
