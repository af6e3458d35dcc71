"""Runs that the JobManager has forgotten, told by the history server."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from bot.adapters.flink_rest import MAX_RUNS, FlinkHistory
from bot.domain.errors import CouldNotLook
from bot.domain.flink import CheckpointKind
from bot.domain.ids import JobId
from tests.adapters.flink_wire import Wire
from tests.adapters.history_archive import ENDED, archived_pages
from tests.adapters.serving import unused_address

JOB = "orders-to-iceberg"


@pytest.fixture
def history(wire: Wire) -> Iterator[FlinkHistory]:
    """A history server that serves one real archive."""
    for path, body in archived_pages():
        wire.says(f"GET {path}", body)
    adapter = FlinkHistory(wire.url)
    yield adapter
    adapter.close()


def test_a_run_that_ended_is_told_with_all_that_was_kept(history: FlinkHistory) -> None:
    """State, restore, failures, attempts, settings, and the stop-savepoint with its size: as if it still ran."""
    [run] = history.past_runs(JOB, [])

    assert (run.job_id, run.state, run.from_history, run.is_terminal) == (ENDED, "FINISHED", True, True)
    assert run.ended_at == datetime(2026, 11, 21, 17, 45, 21, 307000, tzinfo=UTC)
    assert run.restored is not None
    assert run.restored.checkpoint_id == 17
    assert run.failures[0].exception.endswith("ResourceManagerException")
    assert max(vertex.attempt for vertex in run.vertices) == 1
    assert run.settings is not None
    assert run.settings.survives_cancel is True
    last = run.checkpoints[0]
    assert (last.checkpoint_id, last.kind) == (23, CheckpointKind.STOP_SAVEPOINT)
    assert (last.took_ms, last.state_bytes, last.alignment_bytes) == (298, 398260, 0)


def test_one_run_is_asked_for_by_its_id(history: FlinkHistory) -> None:
    """Of a run whose end nobody saw; None is no answer about it."""
    run = history.past_run(ENDED)

    assert run is not None
    assert (run.state, run.from_history) == ("FINISHED", True)
    assert history.past_run(JobId("0" * 32)) is None


def test_what_the_cluster_still_knows_is_not_asked_for(wire: Wire, history: FlinkHistory) -> None:
    """One call: the list."""
    assert history.past_runs(JOB, [ENDED]) == ()
    assert len(wire.asked) == 1


def test_another_jobs_runs_are_not_this_ones(history: FlinkHistory) -> None:
    """A history server is often shared by many clusters."""
    assert history.past_runs("payments-to-iceberg", []) == ()


def test_only_the_newest_runs_are_read(wire: Wire, history: FlinkHistory) -> None:
    """It keeps every run for years."""
    overview = dict(archived_pages())["/jobs/overview"]
    line = overview["jobs"][0]
    old = [{**line, "jid": f"{n:032x}", "start-time": n} for n in range(30)]
    wire.says("GET /jobs/overview", {"jobs": [*old, line]})

    [run] = history.past_runs(JOB, [])

    asked = [path for path, _ in wire.sent("GET") if path.count("/") == 2]
    assert run.job_id == ENDED
    assert len([path for path in asked if path != "/jobs/overview"]) == MAX_RUNS


def test_a_history_server_that_is_down_or_empty_is_named(wire: Wire) -> None:
    """Not there; and just started, before its first look into the archive."""
    gone, empty = FlinkHistory(unused_address()), FlinkHistory(wire.url)

    with pytest.raises(CouldNotLook, match=r"history server at .* did not answer"):
        gone.past_runs(JOB, [])
    with pytest.raises(CouldNotLook, match="has no list of jobs"):
        empty.past_runs(JOB, [])
    gone.close()
    empty.close()
