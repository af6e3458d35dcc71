"""What Flink 1.20 and 2.1 say of their runs, from bodies that real clusters answered."""

from datetime import UTC, datetime
from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.observation.flink import CheckpointKind, CheckpointSettings
from bot.observation.ids import CheckpointId, JobId
from tests.adapters.flink_wire import F21, F120, RUN_21, RUN_120, Wire, body, tell_run, told


def test_a_run_of_1_20_after_a_failover(wire: Wire, flink: FlinkRest) -> None:
    """State, restore, failures with attempt, checkpoints newest first, the attempt that runs now."""
    tell_run(wire, F120, RUN_120, exceptions="exceptions1", checkpoints="checkpoints_after_failure")

    run = told(flink, RUN_120)

    assert (run.name, run.state, run.is_settled, run.ended_at) == ("orders-v1", "RUNNING", True, None)
    assert run.started_at == datetime(2026, 11, 21, 3, 19, 13, 817000, tzinfo=UTC)
    assert [c.checkpoint_id for c in run.checkpoints] == list(range(19, 9, -1))
    assert (run.completed_count, run.failed_count, run.restored_count) == (19, 2, 1)
    assert run.restored is not None
    assert (run.restored.checkpoint_id, run.restored.is_savepoint) == (16, False)
    assert run.checkpoint_interval_ms == 3000
    assert run.failures[0].attempt == 0
    assert run.failures[0].message == "java.lang.RuntimeException: injected failure at offset 966"
    assert [vertex.attempt for vertex in run.vertices] == [0, 1, 0]
    assert run.code_version is None


def test_a_run_of_2_1_after_a_failover(wire: Wire, flink: FlinkRest) -> None:
    """2.x lacks `root-exception`, `location` and more; the code version is a global job parameter."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")

    run = told(flink, RUN_21)

    assert run.state == "RUNNING"
    assert run.code_version == "orders-etl-2.4.1+8f3c1d2"
    assert run.restored is not None
    assert run.restored.checkpoint_id == 9
    assert run.failures[0].exception.endswith("JobMasterException")
    assert max(vertex.attempt for vertex in run.vertices) == 1


@pytest.mark.parametrize(
    ("folder", "run_id", "checkpoints", "size"),
    [(F120, RUN_120, "checkpoints_after_failure", None), (F21, RUN_21, "checkpoints", 402094)],
)
def test_what_a_checkpoint_cost_is_told(
    wire: Wire, flink: FlinkRest, folder: str, run_id: JobId, checkpoints: str, size: int | None
) -> None:
    """Duration, size of the state and what was kept in flight, as Flink's own page says."""
    tell_run(wire, folder, run_id, exceptions="exceptions" if folder == F21 else "exceptions0", checkpoints=checkpoints)
    page = {entry["id"]: entry for entry in body(folder, checkpoints)["history"]}

    run = told(flink, run_id)

    done = [c for c in run.checkpoints if c.status == "COMPLETED" and c.checkpoint_id in page]
    assert done
    assert [(c.took_ms, c.state_bytes) for c in done] == [
        (page[c.checkpoint_id]["end_to_end_duration"], page[c.checkpoint_id]["state_size"]) for c in done
    ]
    assert {c.alignment_bytes for c in done} == {0}
    assert size is None or done[0].state_bytes == size


@pytest.mark.parametrize(("folder", "run_id"), [(F120, RUN_120), (F21, RUN_21)])
def test_how_checkpoints_are_set_is_told(wire: Wire, flink: FlinkRest, folder: str, run_id: JobId) -> None:
    """What recovery depends on: mode, retention, storage, backend, limits."""
    exceptions, checkpoints = ("exceptions", "checkpoints") if folder == F21 else ("exceptions0", "ckpts_stop_v1")
    tell_run(wire, folder, run_id, exceptions=exceptions, checkpoints=checkpoints)

    settings = told(flink, run_id).settings

    assert settings == CheckpointSettings(
        mode="exactly_once",
        timeout_ms=600_000,
        min_pause_ms=0,
        max_concurrent=1,
        survives_cancel=True,
        storage="FileSystemCheckpointStorage",
        backend="HashMapStateBackend",
        is_unaligned=False,
        tolerable_failures=0,
    )


def test_what_a_version_does_not_say_stays_unknown(wire: Wire, flink: FlinkRest) -> None:
    """Absent and -1 both mean that Flink does not tell; nothing is made of it."""
    tell_run(wire, F120, RUN_120, exceptions="exceptions0", checkpoints="ckpts_stop_v1")
    wire.says(f"GET /jobs/{RUN_120}/checkpoints/config", {"mode": "at_least_once", "interval": 1000})
    entry = {"id": 5, "status": "IN_PROGRESS", "trigger_timestamp": 1, "end_to_end_duration": -1}
    wire.says(f"GET /jobs/{RUN_120}/checkpoints", {"history": [entry]})

    run = told(flink, RUN_120)

    assert run.settings == CheckpointSettings(mode="at_least_once")
    assert run.from_history is False
    [checkpoint] = run.checkpoints
    assert (checkpoint.took_ms, checkpoint.state_bytes, checkpoint.alignment_bytes) == (None, None, None)


def test_records_in_flight_are_counted_however_flink_names_them(wire: Wire, flink: FlinkRest) -> None:
    """Unaligned checkpoints persist them."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    page = body(F21, "checkpoints")
    for entry in page["history"]:
        entry["persisted_data"] = 4096
    wire.says(f"GET /jobs/{RUN_21}/checkpoints", page)

    assert {c.alignment_bytes for c in told(flink, RUN_21).checkpoints} == {4096}


def test_kinds_of_checkpoints_are_told_apart(wire: Wire, flink: FlinkRest) -> None:
    """A stop-savepoint pairs, an intermediate one may not: the difference must not get lost."""
    tell_run(wire, F120, RUN_120, exceptions="exceptions0", checkpoints="ckpts_stop_v1")

    kinds = {c.checkpoint_id: c.kind for c in told(flink, RUN_120).checkpoints}

    assert kinds[CheckpointId(8)] is CheckpointKind.STOP_SAVEPOINT
    assert kinds[CheckpointId(4)] is CheckpointKind.SAVEPOINT
    assert kinds[CheckpointId(7)] is CheckpointKind.CHECKPOINT


def test_the_latest_savepoint_is_kept_when_the_history_forgot_it(wire: Wire, flink: FlinkRest) -> None:
    """The history holds ten entries; a savepoint from an hour ago is only under `latest`."""
    tell_run(wire, F120, RUN_120, exceptions="exceptions0", checkpoints="ckpts_stop_v1")
    page = body(F120, "ckpts_stop_v1")
    page["history"] = [entry for entry in page["history"] if entry["checkpoint_type"] == "CHECKPOINT"]
    wire.says(f"GET /jobs/{RUN_120}/checkpoints", page)

    run = told(flink, RUN_120)

    assert run.checkpoints[0].kind is CheckpointKind.STOP_SAVEPOINT


def test_without_a_failure_no_vertex_is_asked(wire: Wire, flink: FlinkRest) -> None:
    """Five calls a run: attempts are 0 while nothing failed over."""
    tell_run(wire, F120, RUN_120, exceptions="exceptions0", checkpoints="ckpts_stop_v1")

    run = told(flink, RUN_120)

    assert {vertex.attempt for vertex in run.vertices} == {0}
    assert len(wire.asked) == 5


@pytest.mark.parametrize(
    "page",
    [
        {},
        {"latest": None, "history": None, "counts": None},
        {"latest": {"completed": None}, "history": [], "summary": {"state_size": {"p50": "NaN"}}},
    ],
)
def test_a_run_in_its_first_seconds_has_no_checkpoints(wire: Wire, flink: FlinkRest, page: Any) -> None:
    """`latest` null or without its parts, percentiles "NaN": Flink's way to say that there are none yet."""
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(f"GET /jobs/{RUN_21}/checkpoints", page)

    run = told(flink, RUN_21)

    assert run.checkpoints == ()
    assert run.restored is None


def test_a_run_without_checkpointing_is_told_all_the_same(wire: Wire, flink: FlinkRest) -> None:
    """Flink answers 404 to the checkpoint pages of such a job, which is not an unknown job."""
    wire.says(f"GET /jobs/{RUN_21}", body(F21, "job"))

    run = told(flink, RUN_21)

    assert run.checkpoint_interval_ms is None
    assert run.settings is None
    assert run.completed_count == 0


def test_a_run_that_has_ended_is_read_once(wire: Wire, flink: FlinkRest) -> None:
    """A job that was submitted a hundred times costs one list and the pages of what runs."""
    tell_run(wire, F120, RUN_120, exceptions="exceptions0", checkpoints="checkpoints_after_failure")
    wire.says(f"GET /jobs/{RUN_120}", {**body(F120, "job"), "state": "CANCELED"})
    line = {"jid": RUN_120, "name": "orders-v1", "start-time": 1, "state": "CANCELED"}
    wire.says("GET /jobs/overview", {"jobs": [line]})

    first = flink.runs("orders-v1")
    asked = len(wire.asked)
    again = flink.runs("orders-v1")

    assert first == again
    assert [path for path, _ in wire.asked[asked:]] == ["GET /jobs/overview"]
