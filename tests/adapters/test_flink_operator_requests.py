"""What is asked of the Flink Kubernetes operator: modes, settings, session jobs, and what is refused."""

import json
import lzma
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_resource import FlinkResource, Kind, resource_of
from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import digest_of
from bot.adapters.kubernetes import Login, flink_resource
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, WaterlineError
from bot.observation.ids import JobId
from bot.service.observing import with_named
from tests.adapters.flink_wire import RUN_21, PassingTime, Wire

JOB, PATH, OURS = "orders-to-iceberg", "s3://flink-state/savepoints/savepoint-1", JobId("5ca1ab1e" * 4)
RESOURCE = "/apis/flink.apache.org/v1beta1/namespaces/streaming/flinkdeployments/orders"
CHANGE = f"PATCH {RESOURCE}?fieldManager=waterline&fieldValidation=Strict"
SAVEPOINTS = {"execution.checkpointing.savepoint-dir": "s3://flink-state/savepoints"}


def resource(state: str = "RUNNING", mode: str = "last-state", **settings: object) -> dict[str, Any]:
    """A FlinkDeployment whose run is in this state."""
    return {
        "metadata": {"uid": "u1", "generation": 2, "resourceVersion": "7"},
        "spec": {"job": {"state": "running", "upgradeMode": mode}, "flinkConfiguration": settings},
        "status": {"observedGeneration": 2, "lifecycleState": "STABLE", "jobStatus": {"jobId": RUN_21, "state": state}},
    }


def our_side(wire: Wire, kind: Kind) -> FlinkOperator:
    """The wire is Flink and the API server at once."""
    soon = timedelta(seconds=30)
    login = Login(wire.url, ssl.create_default_context(), lambda: "token")
    return FlinkOperator(
        FlinkRest(wire.url),
        flink_resource(login, kind, "streaming", "orders"),
        kind,
        stop_limit=soon,
        start_limit=soon,
        poll_every=timedelta(seconds=5),
    )


@pytest.fixture
def operator(wire: Wire, passing_time: PassingTime) -> Iterator[FlinkOperator]:
    """Our side of a FlinkDeployment."""
    with closing(our_side(wire, "FlinkDeployment")) as made:
        yield made


SAVEPOINT = Path(__file__).parent / "fixtures/checkpoint_metadata/flink21_v1_savepoint.xz"
SNAPSHOTS = "GET /apis/flink.apache.org/v1beta1/namespaces/streaming/flinkstatesnapshots"


def snapshot(path: str, job: str = "orders", state: str = "COMPLETED", **spec: object) -> dict[str, Any]:
    """A FlinkStateSnapshot of a savepoint."""
    return {
        "spec": {"jobReference": {"kind": "FlinkDeployment", "name": job}, "savepoint": {}, **spec},
        "status": {"state": state, "path": path, "resultTimestamp": "2026-11-28T12:00:00Z"},
    }


def test_savepoints_that_the_operator_keeps_are_named(wire: Wire, operator: FlinkOperator, tmp_path: Path) -> None:
    """Those of the job that are complete. Only what lies on the storage of the job's folders is opened."""
    aside = snapshot("s3://aside", savepoint=None, checkpoint={}), snapshot("s3://aside", state="FAILED")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/_metadata").write_bytes(lzma.decompress(SAVEPOINT.read_bytes()))
    elsewhere, gone = str(tmp_path / "elsewhere"), "s3://another/savepoint-1"
    there = [snapshot(elsewhere), snapshot(gone), snapshot("s3://aside", job="refunds"), *aside]
    wire.says(SNAPSHOTS, {"items": there})

    found = operator.snapshots()
    listed = with_named([], [], CheckpointFiles(None, str(tmp_path / "savepoints")), found)

    assert [each.path for each in found] == [elsewhere, gone]
    assert [(each.path.removeprefix("file:"), each.is_unread) for each in listed] == [(elsewhere, False)]


def test_snapshots_that_cannot_be_listed_are_not_none(wire: Wire, operator: FlinkOperator) -> None:
    """Operators before 1.10 do not have the resource; a role that was not applied again may not list it."""
    wire.says(SNAPSHOTS, (404, {"message": "the server could not find the requested resource"}))
    with pytest.raises(CouldNotLook, match="404"):
        operator.snapshots()
    wire.says(SNAPSHOTS, (403, {"message": "forbidden"}))
    with pytest.raises(CouldNotLook, match="forbidden") as denied:
        operator.snapshots()
    wire.says(SNAPSHOTS, {"items": [{"spec": {}}]})
    with pytest.raises(CouldNotLook, match="cannot be understood"):
        operator.snapshots()

    assert "flink-operator-rights.yaml" in denied.value.remedy


def test_a_deployment_of_a_blue_green_one_is_never_changed(wire: Wire, operator: FlinkOperator) -> None:
    """Its controller would replace the change. Refused before the stop, and again where it is about to be made."""
    owned = resource(**SAVEPOINTS)
    owned["metadata"]["ownerReferences"] = [{"kind": "FlinkBlueGreenDeployment", "name": "orders", "uid": "u0"}]
    wire.says(f"GET {RESOURCE}", owned)

    found = operator.obstacle(JOB)
    with pytest.raises(CommitRefused, match="FlinkBlueGreenDeployment orders"):
        operator.stop(JOB, RUN_21)

    assert found is not None
    assert "FlinkBlueGreenDeployment orders" in found
    assert not wire.sent("PATCH")


@pytest.mark.parametrize("key", ["execution.state-recovery.claim-mode", "execution.savepoint-restore-mode"])
def test_a_start_that_would_claim_its_restore_point_is_refused_before_the_stop(
    wire: Wire, operator: FlinkOperator, key: str
) -> None:
    """Flink would delete the way back together with the run."""
    wire.says(f"GET {RESOURCE}", resource(**SAVEPOINTS, **{key: "claim"}))
    found = operator.obstacle(JOB)
    wire.says(f"GET {RESOURCE}", resource(**SAVEPOINTS, **{key: "NO_CLAIM"}))

    assert found == f"`{key}: CLAIM` in its flinkConfiguration, by which Flink deletes what it starts from"
    assert operator.obstacle(JOB) is None


@pytest.mark.parametrize(
    ("status", "means", "said"),
    [(code, CommitRefused, rf"refused to change.*HTTP {code}: It may not be\.") for code in (400, 403, 404, 422)]
    + [(code, CouldNotLook, "It may not be") for code in (401, 429)],
)
def test_a_change_that_the_api_server_refuses_is_a_no_or_waited_for(
    wire: Wire, operator: FlinkOperator, status: int, means: type[WaterlineError], said: str
) -> None:
    """No right, no such field: asking again would change nothing. A token that is being replaced, a server that has too
    much to do: later it may."""
    wire.says(f"GET {RESOURCE}", resource(**SAVEPOINTS))
    wire.says(CHANGE, (status, {"message": "It may not be."}))

    with pytest.raises(means, match=said):
        operator.stop(JOB, RUN_21)


HA, NEEDS_STATE, KEEPS = "high-availability.type", {"needs_state": True}, {"keeps_checkpoints": True}
DRAINS = "drain-on-savepoint-deletion"
AGE = "kubernetes.operator.job.upgrade.last-state.max.allowed.checkpoint.age"
GOES = "that would delete the checkpoint to start from"
NOES: Mapping[str, tuple[dict[str, Any], dict[str, bool], str]] = {
    "no job goes on from a drained savepoint (F5)": (
        resource(**SAVEPOINTS, **{f"kubernetes.operator.job.{DRAINS}": "true"}), {}, "that would drain it",
    ),
    "the same setting, nested": (
        resource(**SAVEPOINTS, kubernetes={"operator": {"job": {DRAINS: True}}}), {}, "that would drain it",
    ),
    "suspended by its last state it would leave an older one than the table has": (
        resource(), NEEDS_STATE, r"that would leave no savepoint.*savepoint-dir.*The run continues",
    ),
    "without high availability the operator takes a savepoint whatever is asked for": (
        resource(mode="savepoint"), KEEPS, GOES,
    ),
    "none is no high availability": (resource(mode="savepoint", **{HA: "NONE"}), KEEPS, GOES),
    "with an old checkpoint it takes one, too": (
        resource(mode="savepoint", **{"high-availability": "kubernetes", AGE: "1 h"}), KEEPS, GOES,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("seen", "needs", "said"), NOES.values(), ids=NOES)
def test_a_stop_that_would_lose_something_is_a_no(
    wire: Wire, operator: FlinkOperator, seen: dict[str, Any], needs: dict[str, bool], said: str
) -> None:
    """Nothing is asked for, and the run goes on."""
    wire.says(f"GET {RESOURCE}", seen)

    with pytest.raises(CommitRefused, match=said):
        operator.stop(JOB, RUN_21, **needs)

    assert wire.sent("PATCH") == []


def test_a_start_under_a_pinned_id_is_a_no(wire: Wire, operator: FlinkOperator) -> None:
    """The job stands still: whoever proposed it hears at once what to change."""
    wire.says(f"GET {RESOURCE}", resource("FAILED", **{"$internal.pipeline.job-id": RUN_21}))

    with pytest.raises(CommitRefused, match="its job id is pinned"):
        operator.start(JOB, PATH, OURS)

    assert wire.sent("PATCH") == []


@pytest.mark.parametrize(
    ("seen", "needs", "mode"),
    [
        (resource(), {}, "last-state"),
        (resource("RECONCILING"), NEEDS_STATE, "last-state"),
        (resource(mode="savepoint"), NEEDS_STATE, "savepoint"),
        (resource(**SAVEPOINTS), NEEDS_STATE, "savepoint"),
        (resource(mode="savepoint", **{HA: "kubernetes"}), KEEPS, "last-state"),
    ],
    ids=[
        "nobody needs it", "it is being recovered", "people upgrade by savepoint", "it has a folder",
        "Flink deletes what it retains of a run that ends with one",
    ],
)  # fmt: skip
def test_a_run_is_suspended_by_what_it_can_leave(
    wire: Wire, operator: FlinkOperator, seen: dict[str, Any], needs: dict[str, bool], mode: str
) -> None:
    """A savepoint where it runs and has a place for one; else what its newest checkpoint is known by, which stays."""
    wire.says(f"GET {RESOURCE}", seen)
    wire.says(CHANGE, seen)

    with pytest.raises(OutcomeUnknown):  # no operator is here to carry it out
        operator.stop(JOB, RUN_21, **needs)

    [(_, change)] = wire.sent("PATCH")
    assert change["spec"]["job"] == {"state": "suspended", "upgradeMode": mode}


@pytest.mark.parametrize("mode", ["last-state", "savepoint"])
def test_a_start_leaves_the_upgrade_mode_as_a_stop_has_set_it(mode: str) -> None:
    """To put `stateless` back would lose the state at the next upgrade."""
    told = resource_of(json.dumps(resource(mode=mode)).encode(), "flinkdeployment orders")

    change = told.to_restore(PATH, 9)

    assert {
        "metadata": {"uid": "u1", "resourceVersion": "7"},
        "spec": {
            "job": {
                "state": "running",
                "initialSavepointPath": PATH,
                "savepointRedeployNonce": 9,
                "allowNonRestoredState": False,
            }
        },
    } == change


@pytest.mark.parametrize(
    ("asked", "run", "is_asked"),
    [("suspended", RUN_21, True), ("suspended", None, True), ("suspended", OURS, False), ("running", RUN_21, False)],
    ids=["it is", "the operator names no run", "another run is", "it is not"],
)
def test_a_run_may_be_stopped_yet_while_it_is_asked_to_be_suspended(
    wire: Wire, operator: FlinkOperator, asked: str, run: str | None, is_asked: bool
) -> None:
    """The operator comes back to it, after an hour as well."""
    seen = resource()
    seen["spec"]["job"]["state"], seen["status"]["jobStatus"]["jobId"] = asked, run
    wire.says(f"GET {RESOURCE}", seen)

    told = operator.still_asked_to_stop(RUN_21)

    assert (told is not None) is is_asked
    assert told is None or "the operator may do yet: FlinkDeployment streaming/orders STABLE, job RUNNING" in told


def test_flink_is_not_asked_after_the_stop_of_a_deployment(wire: Wire, operator: FlinkOperator) -> None:
    """The operator asked for it under an id of its own, and the cluster ends with the job."""
    assert operator.stop_at_work(RUN_21) is None
    assert [] == wire.sent("GET")


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
