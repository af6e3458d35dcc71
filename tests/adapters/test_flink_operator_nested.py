"""Settings that are written as nested YAML, which operators since 1.13 take, count as the flat ones do."""

import json
from typing import Any

import pytest

from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_resource import FlinkResource, resource_of
from bot.adapters.flink_starting import digest_of
from bot.domain.errors import CommitRefused, OutcomeUnknown, Superseded
from tests.adapters.flink_wire import Wire
from tests.adapters.recorded_runs import RUN_21
from tests.adapters.test_flink_operator_says_no import CHANGE, JOB, OURS, PATH, RESOURCE, resource
from tests.adapters.test_flink_operator_says_no import operator as operator

FOLDER = {"execution": {"checkpointing": {"savepoint-dir": "s3://flink-state/savepoints"}}}
AVAILABLE = {"high-availability": {"type": "kubernetes", "storageDir": "s3://flink-state/ha"}}


def test_a_nested_drain_is_a_no(wire: Wire, operator: FlinkOperator) -> None:
    """The operator drains by it all the same (F5)."""
    wire.says(
        f"GET {RESOURCE}", resource(kubernetes={"operator": {"job": {"drain-on-savepoint-deletion": True}}}, **FOLDER)
    )

    with pytest.raises(CommitRefused, match="that would drain it"):
        operator.stop(JOB, RUN_21)

    assert [] == wire.sent("PATCH")


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ({"execution": {"state-recovery": {"claim-mode": "CLAIM"}}}, "execution.state-recovery.claim-mode"),
        ({"execution": {"state-recovery.claim-mode": "claim"}}, "execution.state-recovery.claim-mode"),
        ({"execution": {"savepoint-restore-mode": "CLAIM"}}, "execution.savepoint-restore-mode"),
    ],
    ids=["nested", "half nested", "its older name"],
)
def test_a_nested_claim_is_an_obstacle(wire: Wire, operator: FlinkOperator, settings: dict[str, Any], key: str) -> None:
    """Named by its flat name, as Flink's documentation has it."""
    wire.says(f"GET {RESOURCE}", resource(**settings))

    assert f"`{key}: CLAIM` in its flinkConfiguration, by which Flink deletes what it starts from" == operator.obstacle(
        JOB
    )


def test_a_nested_restart_of_what_has_failed_is_no_rest(wire: Wire, operator: FlinkOperator) -> None:
    """Nothing is begun beside a start of the operator's own, and none of ours meets it."""
    wire.says(
        f"GET {RESOURCE}", resource("FAILED", **{"kubernetes.operator": {"job": {"restart": {"failed": "true"}}}})
    )

    told = operator.obstacle(JOB)
    with pytest.raises(Superseded, match="the operator reports that it runs or is about to"):
        operator.start(JOB, PATH, OURS)

    assert told is not None
    assert "`kubernetes.operator.job.restart.failed: true`" in told
    assert [] == wire.sent("PATCH")


def test_a_nested_job_id_is_a_no(wire: Wire, operator: FlinkOperator) -> None:
    """The run would come up under its old id (F3)."""
    wire.says(f"GET {RESOURCE}", resource("FAILED", **{"$internal": {"pipeline": {"job-id": RUN_21}}}))

    with pytest.raises(CommitRefused, match="its job id is pinned"):
        operator.start(JOB, PATH, OURS)

    assert [] == wire.sent("PATCH")


@pytest.mark.parametrize(
    ("settings", "keeps_checkpoints", "mode"), [(FOLDER, False, "savepoint"), (AVAILABLE, True, "last-state")]
)
def test_a_nested_folder_and_nested_high_availability_are_seen(
    wire: Wire, operator: FlinkOperator, settings: dict[str, Any], keeps_checkpoints: bool, mode: str
) -> None:
    """A stop is not refused for what is there."""
    wire.says(f"GET {RESOURCE}", resource(**settings))
    wire.says(CHANGE, resource(**settings))

    with pytest.raises(OutcomeUnknown):  # no operator is here to carry it out
        operator.stop(JOB, RUN_21, needs_state=not keeps_checkpoints, keeps_checkpoints=keeps_checkpoints)

    [(_, change)] = wire.sent("PATCH")
    assert {"job": {"state": "suspended", "upgradeMode": mode}} == change["spec"]


def test_a_nested_age_of_checkpoints_is_a_no(wire: Wire, operator: FlinkOperator) -> None:
    """By it the operator may take a savepoint, and the checkpoint to start from goes."""
    age = {"upgrade": {"last-state": {"max": {"allowed": {"checkpoint": {"age": "1 h"}}}}}}
    wire.says(f"GET {RESOURCE}", resource(kubernetes={"operator": {"job": age}}, **AVAILABLE))

    with pytest.raises(CommitRefused, match="that would delete the checkpoint to start from"):
        operator.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert [] == wire.sent("PATCH")


def read(**settings: object) -> FlinkResource:
    """Our model of a resource with these settings."""
    return resource_of(json.dumps(resource(**settings)).encode(), "flinkdeployment orders")


def test_the_same_settings_are_one_declaration_however_they_are_written() -> None:
    """A proposal is not superseded by another way to write them, but by another value; flat ones count as ever."""
    flat = {"a.b": True, "a.c.d": 2, "a.c.e": "x;2;true", "f": None}
    same = {"a": {"b": True, "c": {"d": 2, "e": ["x", 2, True], "none": []}}, "f": None}
    other = {"a": {"b": False, "c": {"d": 2, "e": ["x", 2, True]}}, "f": None}

    told = [digest_of(read(**each).declared) for each in (flat, same, other)]

    assert flat == read(**flat).spec.settings == read(**same).spec.settings
    assert told[0] == told[1] != told[2]


def test_of_two_ways_to_write_one_setting_the_later_counts() -> None:
    """As in the operator's own map."""
    drain = {"operator": {"job": {"drain-on-savepoint-deletion": True}}}
    key = "kubernetes.operator.job.drain-on-savepoint-deletion"

    later, earlier = read(**{key: False, "kubernetes": drain}), read(**{"kubernetes": drain, key: False})

    assert ({key: True}, {key: False}) == (later.spec.settings, earlier.spec.settings)
