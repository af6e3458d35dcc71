"""Runs that the JobManager has forgotten, told by the history server, and what the observer makes of them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bot.adapters.flink_rest import MAX_RUNS, FlinkHistory, FlinkRest
from bot.observation.errors import CouldNotLook
from bot.observation.flink import CheckpointKind
from bot.observation.ids import JobId
from tests.adapters.flink_wire import ENDED, F21, RUN_21, Wire, archived_pages, body, tell_run
from tests.adapters.serving import unused_address

JOB = "orders-to-iceberg"


@pytest.fixture
def history(wire: Wire) -> Iterator[FlinkHistory]:
    """A history server that serves one real archive."""
    for path, page in archived_pages():
        wire.says(f"GET {path}", page)
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


def test_runs_are_of_one_name_newest_first(wire: Wire, flink: FlinkRest) -> None:
    """A cluster runs other jobs too; submissions of this one, newest first."""
    overview = body(F21, "jobs_overview")
    older = overview["jobs"][1]["jid"]
    overview["jobs"] = [{**overview["jobs"][0], "jid": "e" * 32, "name": "another"}, *overview["jobs"][::-1]]
    wire.says("GET /jobs/overview", overview)
    tell_run(wire, F21, RUN_21, exceptions="exceptions", checkpoints="checkpoints")
    wire.says(f"GET /jobs/{older}", {**body(F21, "job"), "jid": older, "state": "FINISHED", "end-time": 1795273431894})

    runs = flink.runs("orders-to-iceberg")

    assert [(run.job_id, run.is_terminal) for run in runs] == [(RUN_21, False), (older, True)]


def test_no_run_of_this_name_is_an_empty_list(wire: Wire, flink: FlinkRest) -> None:
    """Flink answered: there is none."""
    wire.says("GET /jobs/overview", {"jobs": []})

    assert flink.runs("orders-to-iceberg") == ()


def test_an_unknown_run_is_none(flink: FlinkRest) -> None:
    """404 with Flink's words."""
    assert flink.run(RUN_21) is None


def test_a_read_is_repeated_when_flink_is_just_starting(wire: Wire, flink: FlinkRest) -> None:
    """503 for a moment is not a failure."""
    wire.says("GET /jobs/overview", (503, "starting"), {"jobs": []})

    assert flink.runs("orders-to-iceberg") == ()
    assert len(wire.asked) == 2


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ((500, {"errors": ["boom\nCaused by: java.io.IOException: disk"]}), "java.io.IOException: disk"),
        ((401, "login"), "HTTP 401: login"),
        ((200, "<html>login</html>"), "cannot be read"),
        ((200, {"jobs": [{"name": "x"}]}), "jobs.0.jid"),
        ((404, "nothing here"), "no list of jobs"),
    ],
)
def test_what_is_not_flink_could_not_be_looked_at(wire: Wire, flink: FlinkRest, answer: Any, found: str) -> None:
    """An error, a login page, another service: never an empty list of runs."""
    wire.says("GET /jobs/overview", answer)

    with pytest.raises(CouldNotLook, match=found):
        flink.runs("orders-to-iceberg")


def test_nobody_listens() -> None:
    """A JobManager that is down is named with its address."""
    address = unused_address()
    flink = FlinkRest(address)

    with pytest.raises(CouldNotLook, match=f"{address} did not answer"):
        flink.runs("orders-to-iceberg")

    flink.close()
