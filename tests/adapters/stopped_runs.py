"""A run that is to be stopped, on a Flink that is told what to answer."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest, trigger_of
from tests.adapters.flink_wire import F21, RUN_21, PassingTime, Wire, body, tell_run

JOB = "orders-to-iceberg"
DONE = {"status": {"id": "COMPLETED"}, "operation": {"location": "file:/lab/savepoints/savepoint-5457e3-1"}}
WAITING = {"status": {"id": "IN_PROGRESS"}}
NOT_ASKED = (404, {"errors": ["Operation not found"]})
TRIGGER = f"GET /jobs/{RUN_21}/savepoints/{trigger_of(RUN_21)}"
STOP = f"POST /jobs/{RUN_21}/stop"
CANCEL = f"PATCH /jobs/{RUN_21}?mode=cancel"
DETAIL = f"GET /jobs/{RUN_21}"


def detail(state: str, vertices: str = "RUNNING") -> dict[str, Any]:
    """The run's page in this state."""
    page: dict[str, Any] = body(F21, "job")
    page["state"] = state
    for vertex in page["vertices"]:
        vertex["status"] = vertices
    return page


@pytest.fixture
def stopping(wire: Wire, passing_time: PassingTime) -> Iterator[FlinkRest]:
    """An adapter, and a run that runs."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    with ExitStack() as closing:
        adapter = FlinkRest(
            wire.url,
            savepoint_dir="file:///lab/savepoints",
            stop_limit=timedelta(seconds=30),
            poll_every=timedelta(seconds=1),
        )
        closing.callback(adapter.close)
        yield adapter
