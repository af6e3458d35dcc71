"""Checkpoints that fail, are late, or would not be there when they are needed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Observation, Verdict
from bot.observation.findings import CheckpointHealthFinding
from bot.observation.flink import V1_COMMITTER, CheckpointKind, CheckpointSettings, CompletedCheckpoint, JobRun, Vertex
from bot.observation.ids import CheckpointId, OperatorId
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import Window
from spark_tasks.checkpoint_health import answer as answer_of
from tests.adapters.flink_wire import ENDED, archived_pages, flink_wire
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import recorded
from tests.tables import CONTRACT, OrdersTable, job, unseen

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
"""When the table of these tests was read."""
DURABLE = CheckpointSettings(
    mode="exactly_once", timeout_ms=600_000, survives_cancel=True, storage="FileSystemCheckpointStorage"
)

UNALIGNED = DURABLE.model_copy(update={"is_unaligned": True})
V1_SINK = Vertex(vertex_id=OperatorId("0f" * 16), name=V1_COMMITTER, parallelism=1, status="RUNNING", attempt=0)


def taken(checkpoint: int, ago_s: float, **told: Any) -> CompletedCheckpoint:
    """A completed checkpoint on object storage, so long ago."""
    plain = {
        "checkpoint_id": CheckpointId(checkpoint),
        "kind": CheckpointKind.CHECKPOINT,
        "status": "COMPLETED",
        "triggered_at": NOON - timedelta(seconds=ago_s),
        "path": f"s3://state/checkpoints/{job('a')}/chk-{checkpoint}",
        "discarded": False,
        "took_ms": 120,
    }
    return CompletedCheckpoint(**plain | told)


def failed(checkpoint: int, ago_s: float, why: str | None = None) -> CompletedCheckpoint:
    """One that Flink gave up."""
    return taken(checkpoint, ago_s, status="FAILED", failure=why, path=None, took_ms=None)


def run_with(*checkpoints: CompletedCheckpoint, **told: Any) -> JobRun:
    """A run of an hour, newest checkpoint first, a checkpoint every 3 s."""
    plain = {
        "job_id": job("a"), "name": "orders", "state": "RUNNING", "started_at": NOON - timedelta(hours=1),
        "ended_at": None, "checkpoint_interval_ms": 3000, "checkpoints": checkpoints,
        "completed_count": sum(c.status == "COMPLETED" for c in checkpoints),
        "failed_count": sum(c.status == "FAILED" for c in checkpoints), "restored_count": 0, "restored": None,
        "failures": (), "vertices": (), "code_version": None, "settings": DURABLE,
    }  # fmt: skip
    return JobRun(**plain | told)


FINE = (taken(12, 2), taken(11, 5), taken(10, 8))


def ask_of(*runs: JobRun, contract: TableContract = CONTRACT, jobs: NotSeen | None = None) -> Ask:
    """A table that real Flink wrote, read at noon, with these runs."""
    table = recorded("v1d")
    assert table.head is not None
    none = NotSeen(source="it", reason="Not asked.", remedy="Ask.")
    seen = jobs or Seen(source="Flink, job orders", values=runs)
    return Ask(
        observation=Observation(table=table, jobs=seen, checkpoints=none, reads=none),
        window=Window(since=table.head, until=table.head),
        contract=contract,
    )


def health(*runs: JobRun, contract: TableContract = CONTRACT) -> tuple[Verdict, CheckpointHealthFinding]:
    """Verdict and finding; the task needs no Spark."""
    told = answer_of(None, ask_of(*runs, contract=contract))  # type: ignore[arg-type]
    assert isinstance(told.finding, CheckpointHealthFinding)
    return told.verdict, told.finding


def test_checkpoints_that_complete_in_time_on_object_storage_are_no_trouble() -> None:
    """The one case in which the question is ruled out."""
    verdict, found = health(run_with(*FINE))

    assert verdict is Verdict.RULED_OUT
    assert found.is_durable is True
    assert (found.runs[0].seen_interval_ms, found.runs[0].longest_ms, found.runs[0].problems) == (3000, 120, ())


@pytest.mark.parametrize(
    ("run", "problem"),
    [
        (run_with(failed(14, 0.5), failed(13, 1, "Checkpoint expired before completing."), *FINE),
         "2 checkpoints (13 to 14) failed and none has completed since: Checkpoint expired before completing."),
        (run_with(failed(1, 4)), "Checkpoint 1 failed and none has completed since."),
        (run_with(taken(13, 1), failed(12, 3), taken(11, 5), failed_count=1, completed_count=2),
         "1 of 3 checkpoints failed, though the newest completed."),
        (run_with(taken(12, 60.12)),
         "No checkpoint completed for 1 min, since checkpoint 12; it is set to take one every 3 s."),
        (run_with(), "No checkpoint completed for 1 h, since the start of the run; it is set to take one every 3 s."),
        (run_with(taken(3, 1), taken(2, 9), taken(1, 17)),
         "Typically 8 s lie between completed checkpoints; it is set to every 3 s."),
        (run_with(taken(12, 2, took_ms=4000), *FINE[1:]),
         "The longest checkpoint took 4 s, longer than the interval of 3 s."),
        (run_with(taken(12, 2, took_ms=400_000), *FINE[1:]),
         "The longest checkpoint took 6 min 40 s, more than half of the limit of 10 min at which it fails."),
        (run_with(taken(12, 2, alignment_bytes=200 * 1024**2), *FINE[1:]), "Checkpoint 12 kept 200 MB in flight"),
        (run_with(*FINE, settings=UNALIGNED, vertices=(V1_SINK,)), "It writes with FlinkSink (V1)"),
        (run_with(checkpoint_interval_ms=None), "It is set to take no periodic checkpoints"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_figures(run: JobRun, problem: str) -> None:
    """Each a sentence that a reader can check against Flink's page."""
    verdict, found = health(run)

    assert verdict is Verdict.CONFIRMED
    assert any(told.startswith(problem) for told in found.runs[0].problems), found.runs[0].problems


def test_failures_in_a_row_end_with_a_completed_checkpoint() -> None:
    """What failed before the newest completed one is counted, and not in a row."""
    _, found = health(run_with(failed(14, 1), taken(13, 4), failed(12, 7), taken(11, 10)))

    assert found.runs[0].failed_in_a_row == 1


def test_the_contract_says_how_often() -> None:
    """A job that is set to less than was promised breaks the promise even if it does as it is set."""
    promise = CONTRACT.model_copy(update={"checkpoint_every": timedelta(seconds=1)})

    verdict, found = health(run_with(*FINE), contract=promise)

    assert verdict is Verdict.CONFIRMED
    assert found.runs[0].problems == ("It is set to a checkpoint every 3 s; the contract says every 1 s.",)


def test_savepoints_do_not_count_as_interval() -> None:
    """A savepoint between two checkpoints makes no checkpoint late or early."""
    savepoint = taken(11, 4, kind=CheckpointKind.SAVEPOINT)

    _, found = health(run_with(taken(12, 2), savepoint, taken(10, 5)))

    assert found.runs[0].seen_interval_ms == 3000


@pytest.mark.parametrize(
    ("settings", "is_durable", "problem"),
    [
        ({"storage": "JobManagerCheckpointStorage"}, False, "in the JobManager's memory"),
        ({"survives_cancel": False}, False, "deleted when the run ends"),
        ({"mode": "at_least_once"}, True, "at least once"),
    ],
)
def test_storage_that_does_not_last_is_told(settings: dict[str, Any], is_durable: bool, problem: str) -> None:
    """A checkpoint that is gone when it is needed is none."""
    verdict, found = health(run_with(*FINE, settings=DURABLE.model_copy(update=settings)))

    assert verdict is Verdict.CONFIRMED
    assert found.is_durable is is_durable
    assert problem in found.problems[0]


@pytest.mark.parametrize(
    "run",
    [
        run_with(*FINE, settings=None),
        run_with(*FINE, settings=CheckpointSettings()),
        run_with(*(c.model_copy(update={"path": "file:/state/chk-1"}) for c in FINE)),
        run_with(*(c.model_copy(update={"path": None}) for c in FINE)),
    ],
    ids=["settings not told", "retention not told", "local path", "no path"],
)
def test_where_storage_cannot_be_judged_nothing_is_ruled_out(run: JobRun) -> None:
    """On time is half of the question; the other half was not looked at."""
    told = answer_of(None, ask_of(run))  # type: ignore[arg-type]

    assert told.verdict is Verdict.INCONCLUSIVE
    assert told.finding.is_durable is None
    assert told.could_not_look[0].source == "the storage of the checkpoints of run aaaaaa"


def test_a_run_that_ended_is_not_silent() -> None:
    """A cancelled run takes no checkpoints, rightly."""
    verdict, found = health(run_with(taken(12, 900), taken(11, 903), state="CANCELED", ended_at=NOON))

    assert (verdict, found.runs[0].problems) == (Verdict.RULED_OUT, ())


def test_silence_begins_when_a_checkpoint_completes() -> None:
    """It was triggered three minutes ago, and completed a minute and a half ago."""
    _, found = health(run_with(taken(12, 180, took_ms=90_000), taken(11, 280, took_ms=90_000)))

    assert not [problem for problem in found.runs[0].problems if "No checkpoint completed" in problem]


def test_runs_of_interest_are_the_newest_the_living_and_the_windows() -> None:
    """An old run that ended before the window says nothing of it."""
    newest = run_with(*FINE)
    living = run_with(*FINE, job_id=job("b"), started_at=NOON - timedelta(hours=2))
    over = run_with(job_id=job("c"), state="FAILED", started_at=NOON - timedelta(hours=3))

    _, found = health(over, living, newest)

    assert [run.job_id for run in found.runs] == [job("a"), job("b")]


@pytest.mark.parametrize("jobs", [None, unseen("Flink")])
def test_without_flink_or_without_a_run_nothing_is_known(jobs: NotSeen | None) -> None:
    """Neither a cluster that is down nor one that forgot the job means health."""
    told = answer_of(None, ask_of(jobs=jobs))  # type: ignore[arg-type]

    assert (told.verdict, told.finding) == (Verdict.INCONCLUSIVE, None)
    assert told.could_not_look


def test_a_real_run_with_a_killed_task_manager() -> None:
    """Nine of thirty checkpoints were given up while it was gone; the newest completed: told, from a real archive."""
    with flink_wire() as wire:
        for path, body in archived_pages():
            wire.says(f"GET {path}", body)
        flink = FlinkRest(wire.url)
        run = flink.run(ENDED)
        flink.close()
    assert run is not None

    verdict, found = health(run)

    assert verdict is Verdict.CONFIRMED
    assert (found.runs[0].completed, found.runs[0].failed, found.runs[0].failed_in_a_row) == (21, 9, 0)
    assert found.runs[0].problems[0].startswith("9 of 30 checkpoints failed, though the newest completed")


def test_the_task_answers_through_the_runner(orders: OrdersTable, judges: Asks) -> None:
    """As the collector runs it; a local path is what the tests have, so it cannot be ruled out."""
    orders.commits("a", 12, range(10))
    now = datetime.now(UTC)
    points = [c.model_copy(update={"triggered_at": now, "path": "file:/state/chk-12"}) for c in FINE[:1]]

    told = judges("checkpoint_health", orders.ask(None, jobs=[run_with(*points)]))

    assert told.verdict is Verdict.INCONCLUSIVE
    assert "completed in time" in told.headline
