"""A run that has ended is not at rest while the operator is about to start the job again."""

import ssl
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest

from bot.adapters.flink_operator import FlinkOperator
from bot.adapters.flink_operator_api import Login, flink_resource
from bot.adapters.flink_rest import FlinkRest
from bot.domain.errors import Superseded
from tests.adapters.flink_wire import Wire, tell_run
from tests.adapters.passing_time import PassingTime
from tests.adapters.recorded_runs import F21, RUN_21
from tests.adapters.stopped_runs import DETAIL, detail
from tests.adapters.test_flink_operator_says_no import CHANGE, JOB, OURS, PATH, RESOURCE, SAVEPOINTS, resource
from tests.adapters.test_flink_operator_says_no import operator as operator

SESSION_JOB = RESOURCE.replace("flinkdeployments", "flinksessionjobs")
RESTARTS = {"kubernetes.operator.job.restart.failed": "true"}


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
    soon = timedelta(seconds=30)
    login = Login(wire.url, ssl.create_default_context(), lambda: "token")
    made = FlinkOperator(
        FlinkRest(wire.url),
        flink_resource(login, "FlinkSessionJob", "streaming", "orders"),
        "FlinkSessionJob",
        stop_limit=soon,
        start_limit=soon,
        poll_every=timedelta(seconds=5),
    )
    with closing(made):
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
