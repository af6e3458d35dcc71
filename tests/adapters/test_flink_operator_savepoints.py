"""What a suspension has left, by the words of each operator version that we know."""

from typing import Any

import pytest

from bot.adapters.flink_operator import FlinkOperator
from bot.ports import Stopped
from tests.adapters.flink_wire import Wire
from tests.adapters.recorded_runs import RUN_21
from tests.adapters.test_flink_operator_says_no import CHANGE, JOB, PATH, RESOURCE, SAVEPOINTS, resource
from tests.adapters.test_flink_operator_says_no import operator as operator

BEFORE = "s3://flink-state/savepoints/savepoint-0"


def last(path: str, by: str = "UPGRADE") -> dict[str, Any]:
    """`savepointInfo` as operators 1.8 and 1.9 write it, and later ones beside `upgradeSavepointPath`."""
    return {"savepointInfo": {"lastSavepoint": {"location": path, "triggerType": by, "timeStamp": 1}}}


def stopped(wire: Wire, operator: FlinkOperator, before: dict[str, Any], after: dict[str, Any]) -> Stopped:
    """What is said of a suspension by which `jobStatus` went from `before` to `after`."""
    runs, rests = resource(**SAVEPOINTS), resource("FINISHED", **SAVEPOINTS)
    runs["status"]["jobStatus"] |= before
    rests["status"]["jobStatus"] |= after
    rests["status"]["lifecycleState"] = "SUSPENDED"
    rests["spec"]["job"]["state"] = "suspended"
    wire.says(f"GET {RESOURCE}", runs, runs, rests)
    wire.says(CHANGE, rests)
    return operator.stop(JOB, RUN_21)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, {"upgradeSavepointPath": PATH}),
        ({}, last(PATH)),
        (last(BEFORE, "UNKNOWN"), last(PATH)),
        (last(BEFORE, "PERIODIC"), {"upgradeSavepointPath": PATH} | last(BEFORE, "PERIODIC")),
    ],
    ids=["since 1.10", "1.8 and 1.9", "after an earlier one", "beside a periodic one"],
)
def test_the_savepoint_of_a_stop_is_told(
    wire: Wire, operator: FlinkOperator, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """Operators 1.8 and 1.9 know no `upgradeSavepointPath`."""
    told = stopped(wire, operator, before, after)

    assert PATH == told.savepoint
    assert f"suspended by the operator with savepoint {PATH}" in told.sentence


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (last(BEFORE), last(BEFORE)),
        ({"upgradeSavepointPath": PATH} | last(BEFORE), last(BEFORE)),
        (last(BEFORE), last(PATH, "PERIODIC")),
        (last(BEFORE), last(PATH, "MANUAL")),
    ],
    ids=["nothing new", "no longer told", "a periodic one came", "people took one"],
)
def test_a_savepoint_that_the_stop_did_not_take_is_not_told_as_its_own(
    wire: Wire, operator: FlinkOperator, before: dict[str, Any], after: dict[str, Any]
) -> None:
    """A run went on after it: what it wrote since would have no state that goes with it."""
    told = stopped(wire, operator, before, after)

    assert told.savepoint is None
    assert "without a savepoint" in told.sentence


@pytest.mark.parametrize(
    "after",
    [{"upgradeSavepointPath": "s3://flink-state/checkpoints/5457e3/chk-12/"}, last("s3://flink-state/5457e3/chk-12")],
)
def test_a_checkpoint_that_is_left_is_no_savepoint(wire: Wire, operator: FlinkOperator, after: dict[str, Any]) -> None:
    """A suspension by last state that cancels the run leaves its newest checkpoint there."""
    told = stopped(wire, operator, {"upgradeSavepointPath": "KUBERNETES_OPERATOR_LAST_STATE"} | last(BEFORE), after)

    assert told.savepoint is None
    assert "without a savepoint; its retained checkpoint s3://" in told.sentence


def test_the_operators_word_for_the_last_state_is_no_path(wire: Wire, operator: FlinkOperator) -> None:
    """It means whatever high availability knows."""
    told = stopped(wire, operator, {}, {"upgradeSavepointPath": "KUBERNETES_OPERATOR_LAST_STATE"})

    assert told.savepoint is None
    assert "without a savepoint; its retained checkpoints stay" in told.sentence
