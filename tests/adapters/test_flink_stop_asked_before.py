"""A stop that Flink itself did not wait for: asked again, it never cancels a run that may be taking its savepoint."""

from datetime import timedelta
from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest, trigger_of
from bot.observation.errors import OutcomeUnknown
from tests.adapters.flink_wire import WAITED_IN_VAIN, Wire, body, tell_run
from tests.adapters.passing_time import PassingTime
from tests.adapters.test_flink_reading import F21, RUN_21
from tests.adapters.test_flink_stopping import CANCEL, DETAIL, JOB, NOT_ASKED, STOP, TRIGGER, detail

AGAIN = f"GET /jobs/{RUN_21}/savepoints/{trigger_of(RUN_21, 1)}"
IN_VAIN = {
    "status": {"id": "COMPLETED"},
    "operation": {"failure-cause": {"class": "CompletionException", "stack-trace": WAITED_IN_VAIN}},
}
CONFLICT = (409, {"errors": ["Cannot suspend the job with a savepoint."]})


@pytest.mark.parametrize("run", [detail("RUNNING"), detail("RUNNING", "FINISHED")], ids=["it runs", "it is halfway"])
@pytest.mark.parametrize("needs_state", [False, True])
def test_it_is_not_cancelled_while_the_first_request_may_be_at_work(
    wire: Wire, passing_time: PassingTime, run: Any, needs_state: bool
) -> None:
    """Flink refuses a second stop beside the first one; a cancel would lose that savepoint and its last commit."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(DETAIL, run)
    wire.says(TRIGGER, IN_VAIN)
    wire.says(AGAIN, NOT_ASKED)
    wire.says(STOP, CONFLICT)
    flink = FlinkRest(wire.url, stop_limit=timedelta(seconds=30), poll_every=timedelta(seconds=1))

    with pytest.raises(OutcomeUnknown, match="an earlier request timed out within Flink"):
        flink.stop(JOB, RUN_21, needs_state=needs_state)

    flink.close()
    assert wire.sent("PATCH") == []


def test_a_first_request_that_failed_for_good_is_no_reason_to_wait(wire: Wire, passing_time: PassingTime) -> None:
    """Then nothing is at work, and the wrong run ends in any case."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(DETAIL, detail("RUNNING"), detail("CANCELED"))
    wire.says(TRIGGER, body(F21, "stop_failed"))
    wire.says(AGAIN, NOT_ASKED)
    wire.says(STOP, CONFLICT)
    wire.says(CANCEL, (202, {}))
    flink = FlinkRest(wire.url, stop_limit=timedelta(seconds=30), poll_every=timedelta(seconds=1))

    sentence = flink.stop(JOB, RUN_21).sentence

    flink.close()
    assert sentence.endswith("It is CANCELED.")


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"status": {"id": "IN_PROGRESS"}}, "Flink is still at its stop-with-savepoint"),
        (IN_VAIN, "which may still happen"),
        (body(F21, "stop_failed"), None),
        (NOT_ASKED, None),
    ],
    ids=["at work", "lost sight of", "failed", "never asked"],
)
def test_flink_tells_whether_a_stop_is_at_work(wire: Wire, told: Any, says: str | None) -> None:
    """By the request that the run's own id names."""
    wire.says(TRIGGER, told)
    wire.says(AGAIN, NOT_ASKED)
    flink = FlinkRest(wire.url)

    found = flink.stop_at_work(RUN_21)

    flink.close()
    assert (found is None) is (says is None)
    assert says is None or says in (found or "")
