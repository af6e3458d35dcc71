"""Whether a job can be started at all is known before anything is stopped."""

from contextlib import ExitStack

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import SqlGatewayStart
from bot.domain.errors import CommitRefused, CouldNotLook
from tests.adapters.flink_wire import Wire
from tests.adapters.recorded_runs import RUN_21
from tests.adapters.serving import unused_address
from tests.adapters.started_runs import CREATE, INSERT, JOB, PATH, by_gateway, by_jar, closing, starting

__all__ = ["by_gateway", "by_jar", "closing"]


def test_a_gateway_that_is_down_started_nothing(wire: Wire, closing: ExitStack) -> None:
    """Surely not submitted, so it may be executed again."""
    adapter = starting(wire, closing, SqlGatewayStart(unused_address(), (CREATE, INSERT), {}))

    with pytest.raises(CouldNotLook, match="SQL gateway"):
        adapter.start(JOB, PATH, RUN_21)


def test_without_a_way_to_start_a_person_is_told_how(flink: FlinkRest) -> None:
    """The path and the id to use are in the message."""
    with pytest.raises(CommitRefused, match=f"{PATH} with the job id {RUN_21}"):
        flink.start(JOB, PATH, RUN_21)


def test_a_jar_that_the_cluster_has_lost_is_told_before_anything_is_stopped(wire: Wire, by_jar: FlinkRest) -> None:
    """A JobManager that was started anew has no uploaded jars."""
    wire.says("GET /jars", {"files": [{"id": "other.jar"}]}, {"files": [{"id": "other.jar"}, {"id": "orders.jar"}]})

    lost, there = by_jar.obstacle(JOB), by_jar.obstacle(JOB)

    assert (lost, there) == ("the cluster has no jar orders.jar", None)


def test_a_gateway_is_asked_for_no_more_than_its_name(wire: Wire, by_gateway: FlinkRest) -> None:
    """None of its statements is run before a proposal is approved; a gateway that is down is not `nothing found`."""
    wire.says("GET /v1/info", {"productName": "Apache Flink", "version": "2.1.1"}, (500, {"errors": ["down"]}))

    there = by_gateway.obstacle(JOB)

    assert there is None
    with pytest.raises(CouldNotLook):
        by_gateway.obstacle(JOB)


def test_a_job_that_only_people_can_start_is_told_so(wire: Wire, closing: ExitStack) -> None:
    """Nothing that stops it is proposed then."""
    adapter = FlinkRest(wire.url)
    closing.callback(adapter.close)

    assert "no way to start it is configured" in (adapter.obstacle(JOB) or "")
