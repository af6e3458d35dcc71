"""What Flink does not know or does not answer is told apart, and never taken for an empty answer."""

from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.domain.errors import CouldNotLook
from tests.adapters.flink_wire import Wire, body, tell_run
from tests.adapters.recorded_runs import F21, RUN_21
from tests.adapters.serving import unused_address


def test_runs_are_of_one_name_newest_first(wire: Wire, flink: FlinkRest) -> None:
    """A cluster runs other jobs too; submissions of this one, newest first."""
    overview = body(F21, "jobs_overview")
    older = overview["jobs"][1]["jid"]
    overview["jobs"] = [{**overview["jobs"][0], "jid": "e" * 32, "name": "another"}, *overview["jobs"][::-1]]
    wire.says("GET /jobs/overview", overview)
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(f"GET /jobs/{older}", {**body(F21, "job"), "jid": older, "state": "FINISHED", "end-time": 1795273431894})

    runs = flink.runs("orders-to-iceberg")

    assert [(run.job_id, run.is_terminal) for run in runs] == [(RUN_21, False), (older, True)]


def test_no_run_of_this_name_is_an_empty_list(wire: Wire, flink: FlinkRest) -> None:
    """Flink answered: there is none."""
    wire.says("GET /jobs/overview", {"jobs": []})

    assert flink.runs("orders-to-iceberg") == ()


def test_an_unknown_run_is_none(flink: FlinkRest) -> None:
    """404 with Flink's words."""
    assert flink.run(RUN_21) is None


def test_a_read_is_repeated_when_flink_is_just_starting(wire: Wire, flink: FlinkRest) -> None:
    """503 for a moment is not a failure."""
    wire.says("GET /jobs/overview", (503, "starting"), {"jobs": []})

    assert flink.runs("orders-to-iceberg") == ()
    assert len(wire.asked) == 2


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ((500, {"errors": ["boom\nCaused by: java.io.IOException: disk"]}), "java.io.IOException: disk"),
        ((401, "login"), "HTTP 401: login"),
        ((200, "<html>login</html>"), "cannot be read"),
        ((200, {"jobs": [{"name": "x"}]}), "jobs.0.jid"),
        ((404, "nothing here"), "no list of jobs"),
    ],
)
def test_what_is_not_flink_could_not_be_looked_at(wire: Wire, flink: FlinkRest, answer: Any, found: str) -> None:
    """An error, a login page, another service: never an empty list of runs."""
    wire.says("GET /jobs/overview", answer)

    with pytest.raises(CouldNotLook, match=found):
        flink.runs("orders-to-iceberg")


def test_nobody_listens() -> None:
    """A JobManager that is down is named with its address."""
    address = unused_address()
    flink = FlinkRest(address)

    with pytest.raises(CouldNotLook, match=f"{address} did not answer"):
        flink.runs("orders-to-iceberg")

    flink.close()
