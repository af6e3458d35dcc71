"""Starts, restarts and savepoints by the Flink Kubernetes operator, as its resource tells of them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions._effects.job import StartingJob
from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_resource import nonce_of
from bot.incident.effects import StartJob
from bot.incident.entries import EffectStarted
from bot.observation.errors import CommitRefused, CouldNotLook, Superseded
from bot.observation.ids import CheckpointId, ProposalId
from tests.adapters.flink_wire import F21, RUN_21, PassingTime, Wire, tell_run
from tests.adapters.stopped_runs import DETAIL, NOT_ASKED, TRIGGER, detail
from tests.adapters.test_flink_operator_requests import (
    CHANGE,
    JOB,
    OURS,
    PATH,
    RESOURCE,
    SAVEPOINTS,
    our_side,
    resource,
)
from tests.adapters.test_flink_operator_requests import operator as operator
from tests.adapters.test_flink_stopping import AGAIN

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
    clients = SimpleNamespace(jobs={JOB: SimpleNamespace(flink=operator)})

    looked = StartingJob().verify(START, INTENT, clients)  # type: ignore[arg-type]

    assert looked.happened == happened
    assert ("still asked to be started, which the operator may do yet" in looked.sentence) is (happened == "unknown")


def as_written(nonce: int) -> str:
    """The spec that the operator has carried out, as it writes it since 1.8: wrapped, with metadata of its own."""
    spec = {"job": {"savepointRedeployNonce": nonce}, "flinkConfiguration": {}}
    return json.dumps({"spec": spec, "resource_metadata": {"apiVersion": "flink.apache.org/v1beta1"}})


@pytest.mark.parametrize(("deployed", "is_open"), [(7, False), (6, True)])
def test_nothing_is_begun_that_an_open_start_would_meet(
    wire: Wire, operator: FlinkOperator, deployed: int, is_open: bool
) -> None:
    """An undo that moves the table would meet the job that comes up."""
    seen = resource("FAILED")
    seen["spec"]["job"]["savepointRedeployNonce"] = 7
    seen["status"]["reconciliationStatus"] = {"lastReconciledSpec": as_written(deployed)}
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


RESTART = "kubernetes.operator.job.restart.failed"
SESSION_JOB = RESOURCE.replace("flinkdeployments", "flinksessionjobs")
RESTARTS = {RESTART: "true"}


def upgrades() -> dict[str, Any]:
    """The operator has suspended the job for a new spec, and starts it as soon as it comes to it."""
    seen = resource("FINISHED", **SAVEPOINTS)
    seen["status"]["lifecycleState"] = "UPGRADING"
    return seen


def rolls_back() -> dict[str, Any]:
    """The newest spec did not come up: it starts the last one that did."""
    seen = resource("FINISHED", **SAVEPOINTS)
    seen["status"]["lifecycleState"] = "ROLLING_BACK"
    return seen


def was_edited() -> dict[str, Any]:
    """Somebody mended the spec of a failed job a second ago."""
    seen = resource("FAILED", **SAVEPOINTS)
    seen["metadata"]["generation"] = 3
    return seen


def restarts_failed() -> dict[str, Any]:
    """A setting by which it starts what has failed."""
    return resource("FAILED", **SAVEPOINTS, **RESTARTS)


ABOUT_TO_START = pytest.mark.parametrize("seen", [upgrades(), rolls_back(), was_edited(), restarts_failed()])


@pytest.fixture
def session_job(wire: Wire, passing_time: PassingTime) -> Iterator[FlinkOperator]:
    """Our side of a FlinkSessionJob whose run is over, as Flink tells too."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(DETAIL, detail("FAILED", "FAILED"))
    with closing(our_side(wire, "FlinkSessionJob")) as made:
        yield made


@ABOUT_TO_START
def test_a_job_that_is_about_to_start_is_suspended(wire: Wire, operator: FlinkOperator, seen: dict[str, Any]) -> None:
    """That its run has ended keeps nobody from writing a minute later."""
    rests = resource(seen["status"]["jobStatus"]["state"])
    rests["spec"]["job"]["state"], rests["status"]["lifecycleState"] = "suspended", "SUSPENDED"
    wire.says(f"GET {RESOURCE}", seen, seen, rests)
    wire.says(CHANGE, rests)

    stopped = operator.stop(JOB, RUN_21, needs_state=True)

    [(_, change)] = wire.sent("PATCH")
    assert change["spec"]["job"] == {"state": "suspended", "upgradeMode": "last-state"}
    assert "had ended already" in stopped.sentence
    assert "is suspended now" in stopped.sentence
    assert stopped.savepoint is None


@pytest.mark.parametrize("settings", [{}, RESTARTS])
@pytest.mark.parametrize("state", ["FINISHED", "CANCELED"])
def test_what_has_ended_for_good_is_left_as_it_is(
    wire: Wire, operator: FlinkOperator, state: str, settings: dict[str, str]
) -> None:
    """The operator restarts only what has failed."""
    wire.says(f"GET {RESOURCE}", resource(state, **settings))

    stopped = operator.stop(JOB, RUN_21)

    assert stopped.sentence.endswith("nothing was done.")
    assert operator.obstacle(JOB) is None
    assert [] == wire.sent("PATCH")


@ABOUT_TO_START
def test_no_start_meets_one_of_the_operators_own(wire: Wire, operator: FlinkOperator, seen: dict[str, Any]) -> None:
    """Two starts of one job: which of them stands afterwards nobody could say."""
    wire.says(f"GET {RESOURCE}", seen)

    with pytest.raises(Superseded, match="the operator reports that it runs or is about to"):
        operator.start(JOB, PATH, OURS)

    assert [] == wire.sent("PATCH")


@ABOUT_TO_START
def test_a_session_job_that_is_about_to_start_is_not_called_stopped(
    wire: Wire, session_job: FlinkOperator, seen: dict[str, Any]
) -> None:
    """Flink says that the run is over; the resource says that another comes. It may not be suspended by us."""
    wire.says(f"GET {SESSION_JOB}", seen)

    with pytest.raises(Superseded, match=r"was not stopped: the operator is about to start its job.*Suspend it there"):
        session_job.stop(JOB, RUN_21)

    assert [] == wire.sent("PATCH") + wire.sent("POST")


def test_a_session_job_that_has_ended_for_good_is_left_as_it_is(wire: Wire, session_job: FlinkOperator) -> None:
    """Nothing comes after it."""
    wire.says(f"GET {SESSION_JOB}", resource("FAILED"))

    assert session_job.stop(JOB, RUN_21).sentence.endswith("nothing was done.")
    assert session_job.obstacle(JOB) is None


@ABOUT_TO_START
def test_a_start_of_the_operators_own_is_an_obstacle_of_both_kinds(
    wire: Wire, operator: FlinkOperator, session_job: FlinkOperator, seen: dict[str, Any]
) -> None:
    """Said before anything is done, with the setting by its name."""
    wire.says(f"GET {RESOURCE}", seen)
    wire.says(f"GET {SESSION_JOB}", seen)

    for each in (operator.obstacle(JOB), session_job.obstacle(JOB)):
        assert each is not None
        assert "suspend it there" in each
        assert ("`kubernetes.operator.job.restart.failed: true`" in each) is (seen == restarts_failed())


BEFORE = "s3://flink-state/savepoints/savepoint-0"


LAST_STATE = "KUBERNETES_OPERATOR_LAST_STATE"
LEFT: Mapping[str, tuple[str | None, str | None, str | None, str]] = {
    "a savepoint": (None, PATH, PATH, f"suspended by the operator with savepoint {PATH}"),
    "a savepoint, whatever an earlier stop has left": (BEFORE, PATH, PATH, f"with savepoint {PATH}"),
    "nothing: a run went on after the earlier savepoint": (BEFORE, None, None, "without a savepoint"),
    "nothing, and the earlier one is shown still": (BEFORE, BEFORE, None, "without a savepoint"),
    "its newest checkpoint, by a suspension by last state that cancels the run": (
        LAST_STATE, "s3://flink-state/checkpoints/5457e3/chk-12/", None,
        "without a savepoint; its retained checkpoint s3://",
    ),
    "the operator's word for whatever high availability knows, which is no path": (
        None, LAST_STATE, None, "without a savepoint; its retained checkpoints stay",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "savepoint", "said"), LEFT.values(), ids=LEFT)
def test_what_a_stop_leaves_is_told(
    wire: Wire, operator: FlinkOperator, before: str | None, after: str | None, savepoint: str | None, said: str
) -> None:
    """By how `upgradeSavepointPath` goes from `before` to `after`."""
    runs, rests = resource(**SAVEPOINTS), resource("FINISHED", **SAVEPOINTS)
    for seen, path in ((runs, before), (rests, after)):
        seen["status"]["jobStatus"] |= {} if path is None else {"upgradeSavepointPath": path}
    rests["status"]["lifecycleState"] = "SUSPENDED"
    rests["spec"]["job"]["state"] = "suspended"
    wire.says(f"GET {RESOURCE}", runs, runs, rests)
    wire.says(CHANGE, rests)

    told = operator.stop(JOB, RUN_21)

    assert savepoint == told.savepoint
    assert said in told.sentence


CLUSTER = f"GET {RESOURCE.replace('orders', 'session')}"
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


@pytest.mark.parametrize("settings", [{RESTART: "true"}, NESTED], ids=["flat", "nested"])
def test_a_restart_by_the_cluster_is_one(wire: Wire, session_job: FlinkOperator, settings: dict[str, object]) -> None:
    """Nothing is called stopped that starts by itself, and nothing is begun beside it."""
    wire.says(f"GET {SESSION_JOB}", asked("FAILED"))
    wire.says(CLUSTER, cluster(**settings))

    told = session_job.obstacle(JOB)
    with pytest.raises(Superseded, match="the operator is about to start its job"):
        session_job.stop(JOB, RUN_21)

    assert told is not None
    assert f"`{RESTART}: true` in the flinkConfiguration of FlinkDeployment session" in told
    assert [] == wire.sent("PATCH")


def test_what_the_job_sets_itself_counts_more(wire: Wire, session_job: FlinkOperator) -> None:
    """The operator puts its settings over the cluster's."""
    wire.says(f"GET {SESSION_JOB}", asked("FAILED", **{RESTART: "false", CLAIMS: "NO_CLAIM"}))
    wire.says(CLUSTER, cluster(**{RESTART: "true", CLAIMS: "CLAIM"}))

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
