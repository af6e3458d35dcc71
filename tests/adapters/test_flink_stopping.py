"""A run is stopped for good, once, with its state kept; what is not known is said to be so."""

from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest, trigger_of
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown, WaterlineError
from tests.adapters.flink_wire import WAITED_IN_VAIN, Wire, body
from tests.adapters.recorded_runs import F21, RUN_21
from tests.adapters.stopped_runs import CANCEL, DETAIL, DONE, JOB, NOT_ASKED, STOP, TRIGGER, WAITING, detail, stopping

__all__ = ["stopping"]


def test_a_settled_run_is_stopped_with_a_savepoint(wire: Wire, stopping: FlinkRest) -> None:
    """Never drained, into the configured folder, and the sentence says where."""
    wire.says(DETAIL, detail("RUNNING"), detail("RUNNING"), detail("FINISHED", "FINISHED"))
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
    wire.says(TRIGGER, NOT_ASKED, WAITING, WAITING, DONE)

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert sentence == (
        "Run 5457e3 was stopped with savepoint file:/lab/savepoints/savepoint-5457e3-1. It is FINISHED."
    )
    assert wire.sent("POST") == [
        (
            f"/jobs/{RUN_21}/stop",
            {"targetDirectory": "file:///lab/savepoints", "drain": False, "triggerId": trigger_of(RUN_21)},
        )
    ]
    assert wire.sent("PATCH") == []


def test_a_second_stop_is_the_same_operation(wire: Wire, stopping: FlinkRest) -> None:
    """While the first is at work the run still looks alive: it is followed, not asked again."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
    wire.says(TRIGGER, NOT_ASKED, WAITING)
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            stopping.stop(JOB, RUN_21)

    triggers = [content["triggerId"] for _, content in wire.sent("POST")]

    assert triggers == [trigger_of(RUN_21)]


def test_a_stop_that_is_halfway_is_followed_and_not_cancelled(wire: Wire, stopping: FlinkRest) -> None:
    """Halfway through a stop some operators have finished; a cancel then would lose the last commit."""
    half = detail("RUNNING", "FINISHED")
    wire.says(DETAIL, half, half, detail("FINISHED", "FINISHED"))
    wire.says(TRIGGER, WAITING, DONE)

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert "was stopped with savepoint" in sentence
    assert wire.sent("PATCH") == []


def half_finished() -> Any:
    """One operator has ended: a source that has an end, or the first of all at a stop."""
    page = detail("RUNNING")
    page["vertices"][0]["status"] = "FINISHED"
    return page


def test_a_run_whose_bounded_source_has_ended_is_stopped_with_a_savepoint(wire: Wire, stopping: FlinkRest) -> None:
    """The rest of it runs, and can be asked for its state."""
    wire.says(DETAIL, half_finished(), half_finished(), detail("FINISHED", "FINISHED"))
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
    wire.says(TRIGGER, NOT_ASKED, DONE)

    stopped = stopping.stop(JOB, RUN_21)

    assert DONE["operation"]["location"] == stopped.savepoint  # type: ignore[index]
    assert wire.sent("PATCH") == []


def test_a_run_that_others_are_stopping_is_asked_for_no_second_savepoint(wire: Wire, stopping: FlinkRest) -> None:
    """By its newest checkpoint it is halfway through a stop-with-savepoint of theirs."""
    told = body(F21, "checkpoints")
    stop = {**told["history"][0], "id": 13, "checkpoint_type": "SYNC_SAVEPOINT", "is_savepoint": True}
    wire.says(f"GET /jobs/{RUN_21}/checkpoints", {**told, "history": [stop, *told["history"]]})
    wire.says(DETAIL, half_finished(), detail("CANCELED", "CANCELED"))
    wire.says(CANCEL, (202, {}))

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert "cancelled without a savepoint" in sentence
    assert wire.sent("POST") == []


@pytest.mark.parametrize("state", ["FINISHED", "CANCELED", "FAILED"])
def test_a_run_at_its_end_is_left_as_it_is(wire: Wire, stopping: FlinkRest, state: str) -> None:
    """Stopping twice is stopping once: nothing is sent."""
    wire.says(DETAIL, detail(state, state))

    first, second = (stopping.stop(JOB, RUN_21).sentence for _ in range(2))

    assert first == second == f"Run 5457e3 had ended already: it is {state}; nothing was done."
    assert wire.sent("POST") + wire.sent("PATCH") == []


@pytest.mark.parametrize("page", [detail("RESTARTING", "CANCELED"), detail("RUNNING", "INITIALIZING")])
def test_a_run_that_is_recovering_is_cancelled(wire: Wire, stopping: FlinkRest, page: Any) -> None:
    """A savepoint of a run that is being recovered would only fail; its retained checkpoints stay."""
    wire.says(DETAIL, page, detail("CANCELED", "CANCELED"))
    wire.says(CANCEL, (202, {}))

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert f"cancelled without a savepoint (it was {page['state']})" in sentence
    assert "its retained checkpoints stay. It is CANCELED." in sentence
    assert wire.sent("POST") == []


def test_checkpoints_that_cancel_deletes_are_not_said_to_stay(wire: Wire, stopping: FlinkRest) -> None:
    """Without RETAIN_ON_CANCELLATION the sentence tells what was lost."""
    wire.says(DETAIL, detail("RESTARTING", "CANCELED"), detail("CANCELED"))
    wire.says(CANCEL, (202, {}))
    config = body(F21, "checkpoints_config")
    config["externalization"]["delete_on_cancellation"] = True
    wire.says(f"GET /jobs/{RUN_21}/checkpoints/config", config)

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert "were deleted by Flink" in sentence


def test_a_savepoint_that_fails_is_followed_by_a_cancel(wire: Wire, stopping: FlinkRest) -> None:
    """The wrong run must end in any case; the sentence says why there is no savepoint."""
    wire.says(DETAIL, detail("RUNNING"), detail("CANCELED"))
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
    wire.says(TRIGGER, NOT_ASKED, body(F21, "stop_failed"))
    wire.says(CANCEL, (202, {}))

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert "Failed to create savepoint directory" in sentence
    assert sentence.endswith("It is CANCELED.")


@pytest.mark.parametrize(
    "cause",
    [
        "java.net.SocketTimeoutException: Read timed out",
        "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id 10.0.0.7 timed out.",
        "software.amazon.awssdk.core.exception.ApiCallTimeoutException: Client execution did not complete",
    ],
)
def test_a_savepoint_that_failed_because_others_timed_out_has_failed(
    wire: Wire, stopping: FlinkRest, cause: str
) -> None:
    """An object store that did not answer, a TaskManager that was lost: nothing of the stop goes on."""
    trace = f"java.util.concurrent.CompletionException: CheckpointException: IO-problem detected.\nCaused by: {cause}\n"
    wire.says(DETAIL, detail("RUNNING"), detail("CANCELED"))
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
    failed = {"failure-cause": {"class": "CompletionException", "stack-trace": trace}}
    wire.says(TRIGGER, NOT_ASKED, {"status": {"id": "COMPLETED"}, "operation": failed})
    wire.says(CANCEL, (202, {}))

    assert f"its savepoint failed: {cause.rstrip('.')}" in stopping.stop(JOB, RUN_21).sentence


def test_a_stop_that_flink_refuses_is_followed_by_a_cancel(wire: Wire, stopping: FlinkRest) -> None:
    """409: no place for savepoints, or another savepoint at work."""
    wire.says(DETAIL, detail("RUNNING"), detail("CANCELED"))
    wire.says(STOP, (409, {"errors": ["Cannot suspend the job with a savepoint."]}))
    wire.says(CANCEL, (202, {}))

    assert "Flink refused a savepoint: Cannot suspend" in stopping.stop(JOB, RUN_21).sentence


def test_a_run_that_ends_by_itself_meanwhile_has_ended(wire: Wire, stopping: FlinkRest) -> None:
    """404 or 409 to a cancel means that it was over already."""
    wire.says(DETAIL, detail("FAILING", "FAILED"), detail("FAILED", "FAILED"))
    wire.says(CANCEL, (409, {"errors": ["already terminal"]}))

    assert stopping.stop(JOB, RUN_21).sentence.endswith("It is FAILED.")


@pytest.mark.parametrize(
    ("answer", "means"),
    [
        ((400, {"errors": ['Only the "cancel" mode is supported.']}), CommitRefused),
        ((403, {"errors": ["Web cancellation is disabled."]}), CommitRefused),
        ((408, {"errors": ["Job cancellation timed out."]}), OutcomeUnknown),
        ((500, {"errors": ["Internal server error.", WAITED_IN_VAIN]}), OutcomeUnknown),
        ((500, {"errors": ["The leader is being elected."]}), CouldNotLook),
    ],
    ids=["a no", "no right", "a time-out of its own", "a call within Flink", "not now"],
)
def test_a_cancel_that_is_not_taken_is_told_as_what_it_is(
    wire: Wire, stopping: FlinkRest, answer: Any, means: type[WaterlineError]
) -> None:
    """A no ends the proposal, what may have happened is looked at, and what is not so now is tried again."""
    wire.says(DETAIL, detail("RESTARTING", "CANCELED"))
    wire.says(CANCEL, answer)

    with pytest.raises(means):
        stopping.stop(JOB, RUN_21)
