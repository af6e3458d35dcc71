"""A start that the operator has not come to is open for as long as the resource asks for it."""

import json
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from bot.actions._effects.start_job import StartingJob
from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_resource import nonce_of
from bot.domain.effects import StartJob
from bot.domain.entries import EffectStarted
from bot.domain.ids import CheckpointId, ProposalId
from tests.adapters.flink_wire import Wire, tell_run
from tests.adapters.recorded_runs import F21, RUN_21
from tests.adapters.test_flink_operator_says_no import JOB, OURS, PATH, RESOURCE, resource
from tests.adapters.test_flink_operator_says_no import operator as operator

START = StartJob(job=JOB, path=PATH, checkpoint_id=CheckpointId(4))
INTENT = EffectStarted(proposal=ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P001"), index=0, job_id=OURS)


@pytest.mark.parametrize(
    ("nonce", "state", "happened"),
    [(nonce_of(OURS), "running", "unknown"), (nonce_of(OURS), "suspended", "no"), (7, "running", "no")],
    ids=["it is asked for", "it is suspended", "another one is asked for"],
)
def test_it_did_not_happen_only_once_it_is_taken_back(
    wire: Wire, operator: FlinkOperator, nonce: int, state: str, happened: str
) -> None:
    """The operator comes back to it, after an hour as well."""
    seen = resource("FAILED")
    seen["metadata"]["generation"] = 3
    seen["spec"]["job"] |= {"savepointRedeployNonce": nonce, "initialSavepointPath": PATH, "state": state}
    wire.says(f"GET {RESOURCE}", seen)
    hands = SimpleNamespace(jobs={JOB: SimpleNamespace(flink=operator)})

    looked = StartingJob().verify(START, INTENT, hands)  # type: ignore[arg-type]

    assert looked.happened == happened
    assert ("still asked to be started, which the operator may do yet" in looked.sentence) is (happened == "unknown")


def as_written(nonce: int) -> str:
    """The spec that the operator has carried out, as it writes it since 1.8: wrapped, with metadata of its own."""
    spec = {"job": {"savepointRedeployNonce": nonce}, "flinkConfiguration": {}}
    return json.dumps({"spec": spec, "resource_metadata": {"apiVersion": "flink.apache.org/v1beta1"}})


def before_it_was_wrapped(nonce: int) -> str:
    """As old operators left it."""
    return json.dumps({"job": {"savepointRedeployNonce": nonce}, "apiVersion": "v1beta1"})


@pytest.mark.parametrize("told", [as_written, before_it_was_wrapped])
@pytest.mark.parametrize(("deployed", "is_open"), [(7, False), (6, True)])
def test_nothing_is_begun_that_an_open_start_would_meet(
    wire: Wire, operator: FlinkOperator, told: Callable[[int], str], deployed: int, is_open: bool
) -> None:
    """An undo that moves the table would meet the job that comes up."""
    seen = resource("FAILED")
    seen["spec"]["job"]["savepointRedeployNonce"] = 7
    seen["status"]["reconciliationStatus"] = {"lastReconciledSpec": told(deployed)}
    wire.says(f"GET {RESOURCE}", seen)

    found = operator.obstacle(JOB)

    assert (found is not None) is is_open
    assert found is None or "is asked for a start already" in found


def test_a_start_is_done_once_the_operator_has_carried_out_its_nonce(wire: Wire, operator: FlinkOperator) -> None:
    """The run that it made is told under our id, and a repeated start finds it."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    seen = resource()
    seen["spec"]["job"]["savepointRedeployNonce"] = nonce_of(OURS)
    seen["status"]["reconciliationStatus"] = {"lastReconciledSpec": as_written(nonce_of(OURS))}
    wire.says(f"GET {RESOURCE}", seen)

    operator.start(JOB, PATH, OURS)

    run = operator.run(OURS)
    assert run is not None
    assert RUN_21 == run.job_id
    assert [] == wire.sent("PATCH")
