"""What the resource, its schema and our rights do not allow is refused before anything is done, with what to do."""

from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest
from ruamel.yaml import YAML

from bot.adapters.flink_operator import FlinkOperator
from bot.domain.errors import CommitRefused, CouldNotLook
from tests.adapters.flink_wire import Wire
from tests.adapters.kubernetes import Kubernetes
from tests.adapters.operated_job import (
    JOB,
    NUMBERS,
    OURS,
    PATH,
    SAVEPOINTS,
    driving,
    hand,
    is_asked_to_be,
    meanwhile,
    operator,
    schema,
)
from tests.adapters.operator_hand import NAMESPACE, OperatorHand
from tests.adapters.recorded_runs import RUN_21

__all__ = ["hand", "operator"]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
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


def test_a_pinned_job_id_refuses_the_start(cluster: Kubernetes, wire: Wire) -> None:
    """Under the old id a rewound run's commits would be dropped (F3): said before anything is done."""
    hand = OperatorHand(cluster, "FlinkDeployment", f"orders-{next(NUMBERS)}")
    hand.is_asked({"upgradeMode": "savepoint"}, **SAVEPOINTS, **{"$internal.pipeline.job-id": RUN_21})
    hand.runs(RUN_21, "FAILED")
    before = hand.resource

    with driving(cluster, hand, wire.url) as operator, pytest.raises(CommitRefused, match="its job id is pinned"):
        operator.start(JOB, PATH, OURS)

    assert before == hand.resource


@pytest.mark.parametrize(
    "drains",
    [
        {"kubernetes.operator.job.drain-on-savepoint-deletion": "true"},
        {"kubernetes": {"operator": {"job": {"drain-on-savepoint-deletion": True}}}},
    ],
    ids=["flat", "nested"],
)
def test_a_stop_that_would_drain_is_refused(cluster: Kubernetes, wire: Wire, drains: dict[str, object]) -> None:
    """No job goes on from a drained savepoint (F5). The operator's schema takes settings both ways."""
    hand = OperatorHand(cluster, "FlinkDeployment", f"orders-{next(NUMBERS)}")
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
