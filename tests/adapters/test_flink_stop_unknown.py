"""What became of a stop is unknown wherever Flink does not say it: nothing is concluded, nothing repeated."""

from collections.abc import Callable

import pytest

from bot.adapters.flink_rest import FlinkRest, trigger_of
from bot.domain.errors import CouldNotLook, OutcomeUnknown
from bot.domain.ids import JobId
from tests.adapters.flink_wire import WAITED_IN_VAIN, Wire
from tests.adapters.recorded_runs import RUN_21
from tests.adapters.stopped_runs import DETAIL, DONE, JOB, NOT_ASKED, STOP, TRIGGER, WAITING, detail, stopping

__all__ = ["stopping"]


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


def proxy_gives_up(wire: Wire) -> None:
    """A gateway timeout of the request itself: it may have arrived."""
    wire.says(STOP, (504, "timeout"))


def flink_waits_in_vain(wire: Wire) -> None:
    """Flink gave up waiting for its own JobMaster, which may be at it."""
    told = f"<Exception on server side:\n{WAITED_IN_VAIN}End of exception on server side>"
    wire.says(STOP, (500, {"errors": ["Internal server error.", told]}))


def stop_waits_in_vain(wire: Wire) -> None:
    """The same, told of the operation."""
    cause = {"class": "CompletionException", "stack-trace": WAITED_IN_VAIN}
    wire.says(TRIGGER, NOT_ASKED, {"status": {"id": "COMPLETED"}, "operation": {"failure-cause": cause}})


@pytest.mark.parametrize(
    "trouble",
    [savepoint_hangs, run_goes_on, flink_breaks, proxy_gives_up, flink_waits_in_vain, stop_waits_in_vain],
)
def test_what_may_have_happened_is_unknown(wire: Wire, stopping: FlinkRest, trouble: Callable[[Wire], None]) -> None:
    """After the request was sent, every silence is an unknown outcome: verified, never repeated."""
    wire.says(DETAIL, detail("RUNNING"))
    wire.says(STOP, (202, {"request-id": trigger_of(RUN_21)}))
    trouble(wire)

    with pytest.raises(OutcomeUnknown):
        stopping.stop(JOB, RUN_21)

    assert len(wire.sent("POST")) == 1
    assert wire.sent("PATCH") == []
