"""A run is stopped for good, once, with its state kept; what is not known is said to be so."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest, trigger_of
from bot.observation.errors import CommitRefused, CouldNotLook, OutcomeUnknown, WaterlineError
from bot.observation.ids import JobId
from tests.adapters.flink_wire import F21, RUN_21, WAITED_IN_VAIN, PassingTime, Wire, body, tell_run
from tests.adapters.stopped_runs import CANCEL, DETAIL, DONE, JOB, NOT_ASKED, STOP, TRIGGER, WAITING, detail, stopping

__all__ = ["stopping"]


ACCEPTED = (202, {"request-id": trigger_of(RUN_21)})


def test_a_settled_run_is_stopped_with_a_savepoint(wire: Wire, stopping: FlinkRest) -> None:
    """Never drained, into the configured folder, and the sentence says where."""
    wire.says(DETAIL, detail("RUNNING"), detail("RUNNING"), detail("FINISHED", "FINISHED"))
    wire.says(STOP, ACCEPTED)
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
    wire.says(STOP, ACCEPTED)
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
    wire.says(STOP, ACCEPTED)
    wire.says(TRIGGER, NOT_ASKED, DONE)

    stopped = stopping.stop(JOB, RUN_21)

    assert DONE["operation"]["location"] == stopped.savepoint  # type: ignore[index]
    assert wire.sent("PATCH") == []


@pytest.mark.parametrize("state", ["FINISHED", "CANCELED", "FAILED"])
def test_a_run_at_its_end_is_left_as_it_is(wire: Wire, stopping: FlinkRest, state: str) -> None:
    """Stopping twice is stopping once: nothing is sent."""
    wire.says(DETAIL, detail(state, state))

    first, second = (stopping.stop(JOB, RUN_21).sentence for _ in range(2))

    assert first == second == f"Run 5457e3 had ended already: it is {state}; nothing was done."
    assert wire.sent("POST") + wire.sent("PATCH") == []


def failing(cause: str) -> dict[str, Any]:
    """What Flink tells of a stop of which this went wrong."""
    failure = {"class": "CompletionException", "stack-trace": cause}
    return {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": failure}}


def deleting() -> dict[str, Any]:
    """Settings without RETAIN_ON_CANCELLATION."""
    config: dict[str, Any] = body(F21, "checkpoints_config")
    config["externalization"]["delete_on_cancellation"] = True
    return config


def stopped_by_others() -> dict[str, Any]:
    """The newest checkpoint is the savepoint of a stop."""
    told: dict[str, Any] = body(F21, "checkpoints")
    stop = {**told["history"][0], "id": 13, "checkpoint_type": "SYNC_SAVEPOINT", "is_savepoint": True}
    return {**told, "history": [stop, *told["history"]]}


AGAIN = f"GET /jobs/{RUN_21}/savepoints/{trigger_of(RUN_21, 1)}"
CONFIG = f"GET /jobs/{RUN_21}/checkpoints/config"
CONFLICT = (409, {"errors": ["Cannot suspend the job with a savepoint."]})
IN_VAIN = failing(WAITED_IN_VAIN)
TIMED_OUT = "CompletionException: CheckpointException: IO-problem detected.\nCaused by: "
RUNS, RECOVERS, CANCELED = detail("RUNNING"), detail("RESTARTING", "CANCELED"), detail("CANCELED", "CANCELED")
CANCELLED: Mapping[str, tuple[list[Any], Mapping[str, list[Any]], str, int]] = {
    "a savepoint of a run that is being recovered would only fail; its retained checkpoints stay": (
        [RECOVERS, CANCELED], {},
        r"cancelled without a savepoint \(it was RESTARTING\).*its retained checkpoints stay\. It is CANCELED\.", 0,
    ),
    "so would one of a run whose operators begin": (
        [detail("RUNNING", "INITIALIZING"), CANCELED], {}, r"cancelled without a savepoint \(it was RUNNING\)", 0,
    ),
    "without RETAIN_ON_CANCELLATION the sentence tells what was lost": (
        [RECOVERS, CANCELED], {CONFIG: [deleting()]}, "were deleted by Flink", 0,
    ),
    "others are stopping it by a savepoint of theirs: it is asked for no second one": (
        [half_finished(), CANCELED], {f"GET /jobs/{RUN_21}/checkpoints": [stopped_by_others()]},
        "cancelled without a savepoint", 0,
    ),
    "its savepoint failed": (
        [RUNS, CANCELED], {TRIGGER: [NOT_ASKED, body(F21, "stop_failed")]},
        r"Failed to create savepoint directory.*It is CANCELED\.$", 1,
    ),
    **{
        f"its savepoint failed because others timed out, so nothing of the stop goes on: {cause.split(':')[0]}": (
            [RUNS, CANCELED], {TRIGGER: [NOT_ASKED, failing(f"{TIMED_OUT}{cause}\n")]},
            f"its savepoint failed: {cause.rstrip('.')}", 1,
        )
        for cause in (
            "java.net.SocketTimeoutException: Read timed out",
            "java.util.concurrent.TimeoutException: Heartbeat of TaskManager with id 10.0.0.7 timed out.",
            "software.amazon.awssdk.core.exception.ApiCallTimeoutException: Client execution did not complete",
        )
    },
    "Flink refuses a savepoint: no place for it, or another one at work": (
        [RUNS, CANCELED], {STOP: [CONFLICT]}, "Flink refused a savepoint: Cannot suspend", 1,
    ),
    "a first request failed for good: it is no reason to wait": (
        [RUNS, CANCELED], {TRIGGER: [body(F21, "stop_failed")], AGAIN: [NOT_ASKED], STOP: [CONFLICT]},
        r"It is CANCELED\.$", 1,
    ),
    "it ends by itself meanwhile: 404 or 409 to a cancel means that it was over already": (
        [detail("FAILING", "FAILED"), detail("FAILED", "FAILED")],
        {CANCEL: [(409, {"errors": ["already terminal"]})]}, r"It is FAILED\.$", 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("pages", "answers", "said", "asked"), CANCELLED.values(), ids=CANCELLED)
def test_where_no_savepoint_comes_the_run_is_cancelled(
    wire: Wire, stopping: FlinkRest, pages: list[Any], answers: Mapping[str, list[Any]], said: str, asked: int
) -> None:
    """The wrong run must end in any case; the sentence says why there is no savepoint."""
    wire.says(DETAIL, *pages)
    for request, told in ({STOP: [ACCEPTED], CANCEL: [(202, {})]} | dict(answers)).items():
        wire.says(request, *told)

    sentence = stopping.stop(JOB, RUN_21).sentence

    assert re.search(said, sentence), sentence
    assert (asked, 1) == (len(wire.sent("POST")), len(wire.sent("PATCH")))


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


@pytest.fixture
def kept_stopping(wire: Wire, passing_time: PassingTime) -> Iterator[FlinkRest]:
    """An adapter, and a run that runs."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(STOP, ACCEPTED)
    wire.says(CANCEL, (202, {}))
    with ExitStack() as closing:
        adapter = FlinkRest(wire.url, stop_limit=timedelta(seconds=30), poll_every=timedelta(seconds=1))
        closing.callback(adapter.close)
        yield adapter


def savepoint_fails(wire: Wire) -> str:
    """The folder cannot be written."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(TRIGGER, NOT_ASKED, body(F21, "stop_failed"))
    return "its savepoint failed: .*Failed to create savepoint directory"


def flink_refuses(wire: Wire) -> str:
    """No folder is set, or another savepoint is at work."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(STOP, CONFLICT)
    return "Flink refused a savepoint: Cannot suspend the job"


def run_recovers(wire: Wire) -> str:
    """It takes no savepoint, and by Flink's default a cancel deletes its checkpoints."""
    wire.says(CONFIG, deleting())
    wire.says(DETAIL, RECOVERS)
    return "it was RESTARTING"


@pytest.mark.parametrize("trouble", [savepoint_fails, flink_refuses, run_recovers])
def test_a_run_that_can_leave_no_state_goes_on(
    wire: Wire, kept_stopping: FlinkRest, trouble: Callable[[Wire], str]
) -> None:
    """What failed, that the run goes on, and what to do; nothing was cancelled."""
    words = trouble(wire)

    with pytest.raises(CommitRefused, match=f"5457e3 was not stopped.*{words}.*The run continues"):
        kept_stopping.stop(JOB, RUN_21, needs_state=True)

    assert wire.sent("PATCH") == []


def test_a_recovering_run_is_cancelled_where_its_checkpoints_stay(wire: Wire, kept_stopping: FlinkRest) -> None:
    """RETAIN_ON_CANCELLATION: what it leaves is its newest checkpoint."""
    wire.says(DETAIL, detail("RESTARTING", "CANCELED"), detail("CANCELED", "CANCELED"))

    sentence = kept_stopping.stop(JOB, RUN_21, needs_state=True).sentence

    assert "its retained checkpoints stay" in sentence


def test_a_stop_after_a_failed_one_is_a_new_one(wire: Wire, kept_stopping: FlinkRest) -> None:
    """Flink remembers the failure for minutes; the folder can be written by now."""
    wire.says(DETAIL, detail("RUNNING"), detail("RUNNING"), detail("FINISHED", "FINISHED"))
    wire.says(TRIGGER, body(F21, "stop_failed"))
    wire.says(AGAIN, NOT_ASKED, DONE)

    stopped = kept_stopping.stop(JOB, RUN_21, needs_state=True)

    assert stopped.savepoint is not None
    assert [content["triggerId"] for _, content in wire.sent("POST")] == [trigger_of(RUN_21, 1)]


@pytest.mark.parametrize("vertices", ["RUNNING", "FINISHED"])
def test_a_stop_at_work_is_followed_although_flink_has_forgotten_those_before(
    wire: Wire, kept_stopping: FlinkRest, vertices: str
) -> None:
    """It forgets a failure after five minutes; a large savepoint takes longer, and operators end halfway through."""
    wire.says(DETAIL, detail("RUNNING", vertices), detail("RUNNING", vertices), detail("FINISHED", "FINISHED"))
    wire.says(TRIGGER, NOT_ASKED)
    wire.says(AGAIN, WAITING, WAITING, DONE)

    assert kept_stopping.stop_at_work(RUN_21) is not None
    stopped = kept_stopping.stop(JOB, RUN_21, needs_state=True)

    assert stopped.savepoint is not None
    assert [] == wire.sent("PATCH") + wire.sent("POST")


def test_a_run_whose_checkpoint_is_started_from_is_not_cancelled_at_such_a_stop(
    wire: Wire, kept_stopping: FlinkRest
) -> None:
    """Flink would delete that checkpoint when the savepoint is complete."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(TRIGGER, NOT_ASKED)
    wire.says(AGAIN, WAITING)

    with pytest.raises(CommitRefused, match="5457e3 was not cancelled"):
        kept_stopping.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert [] == wire.sent("PATCH") + wire.sent("POST")


def test_a_run_whose_checkpoint_is_started_from_takes_no_savepoint(wire: Wire, kept_stopping: FlinkRest) -> None:
    """It runs and could: Flink would delete its retained checkpoints then."""
    wire.says(DETAIL, detail("RUNNING"), detail("CANCELED", "CANCELED"))
    wire.says(TRIGGER, NOT_ASKED)

    stopped = kept_stopping.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert stopped.savepoint is None
    assert "its retained checkpoints stay" in stopped.sentence
    assert (0, 1) == (len(wire.sent("POST")), len(wire.sent("PATCH")))


@pytest.mark.parametrize("trouble", ["deleted by a cancel", "being stopped already"])
def test_a_run_whose_checkpoint_would_go_goes_on(wire: Wire, kept_stopping: FlinkRest, trouble: str) -> None:
    """By its settings as they are at the stop, or by a stop-with-savepoint that Flink is at."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(TRIGGER, NOT_ASKED)
    if trouble == "deleted by a cancel":
        wire.says(CONFIG, deleting())
    else:
        wire.says(TRIGGER, {"status": {"id": "IN_PROGRESS"}})

    with pytest.raises(
        CommitRefused, match=r"5457e3 was not cancelled: that would delete the checkpoint to start from"
    ):
        kept_stopping.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert [] == wire.sent("PATCH") + wire.sent("POST")


def test_an_unknown_run_is_not_a_stopped_one(stopping: FlinkRest) -> None:
    """After a restart of the JobManager a run may be forgotten and yet write: nothing may be concluded."""
    with pytest.raises(CouldNotLook, match="Flink does not know it"):
        stopping.stop(JOB, JobId("0" * 32))


def savepoint_hangs(wire: Wire) -> None:
    """The savepoint takes longer than the limit."""
    wire.says(TRIGGER, NOT_ASKED, WAITING)


def run_goes_on(wire: Wire) -> None:
    """The savepoint is done and the run does not end."""
    wire.says(TRIGGER, NOT_ASKED, DONE)


def flink_breaks(wire: Wire) -> None:
    """Flink cannot be asked any more."""
    wire.says(TRIGGER, NOT_ASKED, (500, {"errors": ["boom"]}))


def stop_waits_in_vain(wire: Wire) -> None:
    """Flink gave up waiting for its own JobMaster, which may be at it, and tells so of the operation."""
    wire.says(TRIGGER, NOT_ASKED, IN_VAIN)


def proxy_gives_up(wire: Wire) -> None:
    """A gateway timeout of the request itself: it may have arrived."""
    wire.says(STOP, (504, "timeout"))


def flink_waits_in_vain(wire: Wire) -> None:
    """The same, told of the request."""
    told = f"<Exception on server side:\n{WAITED_IN_VAIN}End of exception on server side>"
    wire.says(STOP, (500, {"errors": ["Internal server error.", told]}))


@pytest.mark.parametrize(
    "trouble", [savepoint_hangs, run_goes_on, flink_breaks, proxy_gives_up, flink_waits_in_vain, stop_waits_in_vain]
)
def test_what_may_have_happened_is_unknown(wire: Wire, stopping: FlinkRest, trouble: Callable[[Wire], None]) -> None:
    """After the request was sent, every silence is an unknown outcome: verified, never repeated."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(STOP, ACCEPTED)
    trouble(wire)

    with pytest.raises(OutcomeUnknown):
        stopping.stop(JOB, RUN_21)

    assert len(wire.sent("POST")) == 1
    assert wire.sent("PATCH") == []


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
