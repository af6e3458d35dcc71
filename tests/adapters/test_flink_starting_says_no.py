"""Which errors of a gateway or a JobManager are a no, which may mend, and after which a run may have begun."""

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from tests.adapters.flink_wire import RUN_21, Wire
from tests.adapters.started_runs import DETAIL, JOB, PATH, RUN_JAR, SESSION, UNKNOWN, by_gateway, by_jar, closing, fails

__all__ = ["by_gateway", "by_jar", "closing"]
STATEMENTS = f"POST {SESSION}/statements"


@pytest.fixture(autouse=True)
def nothing_runs(wire: Wire, by_gateway: FlinkRest, by_jar: FlinkRest) -> None:
    """Flink does not know the run."""
    wire.says(DETAIL, UNKNOWN)


@pytest.mark.parametrize("status", [401, 408, 429, 500, 503])
def test_a_gateway_that_opens_no_session_now_is_waited_for(wire: Wire, by_gateway: FlinkRest, status: int) -> None:
    """Nothing was submitted; it may mend."""
    wire.says("POST /v1/sessions", (status, {"errors": ["not now"]}))

    with pytest.raises(CouldNotLook, match=f"no session was opened.*HTTP {status}"):
        by_gateway.start(JOB, PATH, RUN_21)


@pytest.mark.parametrize("status", [401, 408, 429, 500, 503])
def test_a_statement_before_the_insert_that_is_not_taken_now_is_waited_for(
    wire: Wire, by_gateway: FlinkRest, status: int
) -> None:
    """Nothing was submitted; it may mend."""
    wire.says(STATEMENTS, (status, {"errors": ["not now"]}))

    with pytest.raises(CouldNotLook, match=f"HTTP {status}"):
        by_gateway.start(JOB, PATH, RUN_21)


def test_a_statement_that_is_wrong_in_itself_is_a_no(wire: Wire, by_gateway: FlinkRest) -> None:
    """It would be wrong in an hour as well."""
    fails(wire, "o1", "Caused by: org.apache.flink.table.api.ValidationException: Could not find any factory")

    with pytest.raises(CommitRefused, match="Could not find any factory"):
        by_gateway.start(JOB, PATH, RUN_21)


@pytest.mark.parametrize(
    ("status", "means"), [(400, CommitRefused), (408, OutcomeUnknown), (500, OutcomeUnknown), (503, OutcomeUnknown)]
)
def test_an_insert_that_broke_the_gateway_may_be_submitted(
    wire: Wire, by_gateway: FlinkRest, status: int, means: type[Exception]
) -> None:
    """Only a 4xx of its own says that it was not."""
    wire.says(STATEMENTS, {"operationHandle": "o1"}, (status, {"errors": ["broken"]}))

    with pytest.raises(means, match=f"HTTP {status}"):
        by_gateway.start(JOB, PATH, RUN_21)


def test_an_insert_that_the_gateway_has_forgotten_may_be_submitted(wire: Wire, by_gateway: FlinkRest) -> None:
    """It was started anew in between: it does not know the session, and says nothing of the run."""
    wire.says(f"GET {SESSION}/operations/o2/status", UNKNOWN)
    wire.says(f"GET {SESSION}/operations/o2/result/0", UNKNOWN)

    with pytest.raises(OutcomeUnknown):
        by_gateway.start(JOB, PATH, RUN_21)


@pytest.mark.parametrize(
    ("status", "means"),
    [(400, CommitRefused), (401, CouldNotLook), (408, OutcomeUnknown), (429, CouldNotLook), (500, OutcomeUnknown)],
)
def test_a_jar_that_is_not_taken(wire: Wire, by_jar: FlinkRest, status: int, means: type[Exception]) -> None:
    """Flink says 400 of whatever failed in the program or the submission."""
    wire.says(RUN_JAR, (status, {"errors": ["Could not execute application."]}))

    with pytest.raises(means, match=f"HTTP {status}"):
        by_jar.start(JOB, PATH, RUN_21)
