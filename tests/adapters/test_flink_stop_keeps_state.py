"""A run whose state is needed is stopped with it or goes on: it is never cancelled because a savepoint failed."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import timedelta

import pytest

from bot.adapters.flink_rest import FlinkRest, trigger_of
from bot.domain.errors import CommitRefused
from tests.adapters.flink_wire import Wire, body, tell_run
from tests.adapters.passing_time import PassingTime
from tests.adapters.recorded_runs import F21, RUN_21
from tests.adapters.stopped_runs import CANCEL, DETAIL, DONE, JOB, NOT_ASKED, STOP, TRIGGER, WAITING, detail

CONFIG = f"GET /jobs/{RUN_21}/checkpoints/config"
SECOND = f"GET /jobs/{RUN_21}/savepoints/{trigger_of(RUN_21, 1)}"


@pytest.fixture
def stopping(wire: Wire, passing_time: PassingTime) -> Iterator[FlinkRest]:
    """An adapter, and a run that runs."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
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
    wire.says(STOP, (409, {"errors": ["Cannot suspend the job with a savepoint."]}))
    return "Flink refused a savepoint: Cannot suspend the job"


def run_recovers(wire: Wire) -> str:
    """It takes no savepoint, and by Flink's default a cancel deletes its checkpoints."""
    config = body(F21, "checkpoints_config")
    config["externalization"]["delete_on_cancellation"] = True
    wire.says(CONFIG, config)
    wire.says(DETAIL, detail("RESTARTING", "CANCELED"))
    return "it was RESTARTING"


@pytest.mark.parametrize("trouble", [savepoint_fails, flink_refuses, run_recovers])
def test_a_run_that_can_leave_no_state_goes_on(wire: Wire, stopping: FlinkRest, trouble: Callable[[Wire], str]) -> None:
    """What failed, that the run goes on, and what to do; nothing was cancelled."""
    words = trouble(wire)

    with pytest.raises(CommitRefused, match=f"5457e3 was not stopped.*{words}.*The run continues"):
        stopping.stop(JOB, RUN_21, needs_state=True)

    assert wire.sent("PATCH") == []


def test_a_recovering_run_is_cancelled_where_its_checkpoints_stay(wire: Wire, stopping: FlinkRest) -> None:
    """RETAIN_ON_CANCELLATION: what it leaves is its newest checkpoint."""
    wire.says(DETAIL, detail("RESTARTING", "CANCELED"), detail("CANCELED", "CANCELED"))

    sentence = stopping.stop(JOB, RUN_21, needs_state=True).sentence

    assert "its retained checkpoints stay" in sentence


def test_a_stop_after_a_failed_one_is_a_new_one(wire: Wire, stopping: FlinkRest) -> None:
    """Flink remembers the failure for minutes; the folder can be written by now."""
    wire.says(DETAIL, detail("RUNNING"), detail("RUNNING"), detail("FINISHED", "FINISHED"))
    wire.says(TRIGGER, body(F21, "stop_failed"))
    wire.says(SECOND, NOT_ASKED, DONE)

    stopped = stopping.stop(JOB, RUN_21, needs_state=True)

    assert stopped.savepoint is not None
    assert [content["triggerId"] for _, content in wire.sent("POST")] == [trigger_of(RUN_21, 1)]


@pytest.mark.parametrize("vertices", ["RUNNING", "FINISHED"])
def test_a_stop_at_work_is_followed_although_flink_has_forgotten_those_before(
    wire: Wire, stopping: FlinkRest, vertices: str
) -> None:
    """It forgets a failure after five minutes; a large savepoint takes longer, and operators end halfway through."""
    wire.says(DETAIL, detail("RUNNING", vertices), detail("RUNNING", vertices), detail("FINISHED", "FINISHED"))
    wire.says(TRIGGER, NOT_ASKED)
    wire.says(SECOND, WAITING, WAITING, DONE)

    assert stopping.stop_at_work(RUN_21) is not None
    stopped = stopping.stop(JOB, RUN_21, needs_state=True)

    assert stopped.savepoint is not None
    assert [] == wire.sent("PATCH") + wire.sent("POST")


def test_a_run_whose_checkpoint_is_started_from_is_not_cancelled_at_such_a_stop(
    wire: Wire, stopping: FlinkRest
) -> None:
    """Flink would delete that checkpoint when the savepoint is complete."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(TRIGGER, NOT_ASKED)
    wire.says(SECOND, WAITING)

    with pytest.raises(CommitRefused, match="5457e3 was not cancelled"):
        stopping.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert [] == wire.sent("PATCH") + wire.sent("POST")


def test_a_run_whose_checkpoint_is_started_from_takes_no_savepoint(wire: Wire, stopping: FlinkRest) -> None:
    """It runs and could: Flink would delete its retained checkpoints then."""
    wire.says(DETAIL, detail("RUNNING"), detail("CANCELED", "CANCELED"))
    wire.says(TRIGGER, NOT_ASKED)

    stopped = stopping.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert stopped.savepoint is None
    assert "its retained checkpoints stay" in stopped.sentence
    assert (0, 1) == (len(wire.sent("POST")), len(wire.sent("PATCH")))


@pytest.mark.parametrize("trouble", ["deleted by a cancel", "being stopped already"])
def test_a_run_whose_checkpoint_would_go_goes_on(wire: Wire, stopping: FlinkRest, trouble: str) -> None:
    """By its settings as they are at the stop, or by a stop-with-savepoint that Flink is at."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(TRIGGER, NOT_ASKED)
    if trouble == "deleted by a cancel":
        config = body(F21, "checkpoints_config")
        config["externalization"]["delete_on_cancellation"] = True
        wire.says(CONFIG, config)
    else:
        wire.says(TRIGGER, {"status": {"id": "IN_PROGRESS"}})

    with pytest.raises(
        CommitRefused, match=r"5457e3 was not cancelled: that would delete the checkpoint to start from"
    ):
        stopping.stop(JOB, RUN_21, keeps_checkpoints=True)

    assert [] == wire.sent("PATCH") + wire.sent("POST")
