"""Do checkpoints complete, in time, and where they outlive the cluster?"""

from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median
from urllib.parse import urlsplit

from pyspark.sql import SparkSession

from bot.history.checkpoint_pace import completed_at, interval_of, usual_pause
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import CheckpointHealthFinding, RunHealth
from bot.observation.flink import CheckpointKind, CheckpointSettings, CompletedCheckpoint, JobRun
from bot.observation.ids import short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, cell, inconclusive, lasting

SLACK = 2
"""So many intervals may lie between two checkpoints before the interval counts as not kept."""
_MANY_FAIL = 0.1
_IN_FLIGHT_BYTES = 64 * 1024 * 1024
"""More than this kept in flight means that barriers wait long: backpressure."""


def health_of(run: JobRun, promised: timedelta | None, now: datetime) -> RunHealth:
    """`promised` is the contract's interval, else what the job is set to counts. `now` is when Flink was asked."""
    done = sorted((c for c in run.checkpoints if c.status == "COMPLETED"), key=lambda c: c.triggered_at)
    failed = sorted((c for c in run.checkpoints if c.status == "FAILED"), key=lambda c: c.checkpoint_id)
    in_a_row = [c for c in failed if not done or c.triggered_at > done[-1].triggered_at]
    seen = _seen_interval(done)
    longest = max((c.took_ms for c in done if c.took_ms is not None), default=None)
    return RunHealth(
        job_id=run.job_id,
        completed=run.completed_count,
        failed=run.failed_count,
        failed_in_a_row=len(in_a_row),
        seen_interval_ms=round(seen.total_seconds() * 1000) if seen is not None else None,
        longest_ms=longest,
        problems=(
            *_silence(run, done, in_a_row, now),
            *_failures(run, failed, in_a_row),
            *_interval(run, promised, seen),
            *_durations(run, longest),
            *_in_flight(done),
            *_unsafe(run),
        ),
    )


def _seen_interval(done: list[CompletedCheckpoint]) -> timedelta | None:
    """The typical time between periodic checkpoints; savepoints come when people ask for them."""
    times = [c.triggered_at for c in done if c.kind is CheckpointKind.CHECKPOINT]
    gaps = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    return timedelta(seconds=median(gaps)) if gaps else None


def _silence(
    run: JobRun, done: list[CompletedCheckpoint], in_a_row: list[CompletedCheckpoint], now: datetime
) -> tuple[str, ...]:
    """A living run that completes nothing. While it fails, the failures are what is told."""
    interval = interval_of(run)
    if run.is_terminal or interval is None or in_a_row:
        return ()
    since = completed_at(done[-1]) if done else max(run.started_at, run.restored.at if run.restored else run.started_at)
    silent = now - since
    if silent <= usual_pause(interval, run):
        return ()
    last = f"checkpoint {done[-1].checkpoint_id}" if done else "the start of the run"
    return (f"No checkpoint completed for {_say(silent)}, since {last}; it is set to take one every {_say(interval)}.",)


def _failures(run: JobRun, failed: list[CompletedCheckpoint], in_a_row: list[CompletedCheckpoint]) -> tuple[str, ...]:
    total = run.completed_count + run.failed_count
    why = next((c.failure for c in reversed(failed) if c.failure), None)
    because = f": {_first_line(why)}" if why else ""
    if in_a_row:
        first, last = in_a_row[0].checkpoint_id, in_a_row[-1].checkpoint_id
        which = f"Checkpoint {first}" if first == last else f"{len(in_a_row)} checkpoints ({first} to {last})"
        return (f"{which} failed and none has completed since{because}.",)
    if total and run.failed_count >= _MANY_FAIL * total:
        few = f"{run.failed_count:,} of {counted(total, 'checkpoint')} failed"
        return (f"{few}, though the newest completed{because}.",)
    return ()


def _interval(run: JobRun, promised: timedelta | None, seen: timedelta | None) -> tuple[str, ...]:
    problems = []
    is_set = timedelta(milliseconds=run.checkpoint_interval_ms) if run.checkpoint_interval_ms is not None else None
    if is_set is None and run.settings is not None:
        problems.append("It is set to take no periodic checkpoints: after a failure it starts from its last savepoint.")
    if is_set is not None and promised is not None and is_set > promised:
        problems.append(f"It is set to a checkpoint every {_say(is_set)}; the contract says every {_say(promised)}.")
    expected = promised or is_set
    if expected is not None and seen is not None and seen > SLACK * max(expected, is_set or expected):
        whose = "the contract says" if promised is not None else "it is set to"
        problems.append(f"Typically {_say(seen)} lie between completed checkpoints; {whose} every {_say(expected)}.")
    return tuple(problems)


def _durations(run: JobRun, longest: int | None) -> tuple[str, ...]:
    if longest is None:
        return ()
    took = _ms(longest)
    limit = run.settings.timeout_ms if run.settings is not None else None
    if limit is not None and 2 * longest > limit:
        return (f"The longest checkpoint took {took}, more than half of the limit of "
                f"{_ms(limit)} at which it fails.",)  # fmt: skip
    if run.checkpoint_interval_ms is not None and longest > run.checkpoint_interval_ms:
        every = _ms(run.checkpoint_interval_ms)
        return (f"The longest checkpoint took {took}, longer than the interval of {every}.",)
    return ()


def _in_flight(done: list[CompletedCheckpoint]) -> tuple[str, ...]:
    most = max(done, key=lambda c: c.alignment_bytes or 0, default=None)
    kept = (most.alignment_bytes or 0) if most is not None else 0
    if most is None or kept <= _IN_FLIGHT_BYTES:
        return ()
    return (f"Checkpoint {most.checkpoint_id} kept {kept / 1024**2:,.0f} MB in flight while its barriers were aligned: "
            "something downstream holds the records up.",)  # fmt: skip


def _unsafe(run: JobRun) -> tuple[str, ...]:
    if not run.may_lose_in_flight:
        return ()
    return (
        "It writes with FlinkSink (V1) and unaligned checkpoints: each one that fails can lose rows for good "
        "(apache/iceberg #15846). Set execution.checkpointing.unaligned to false, or write with IcebergSink.",
    )


def _say(span: timedelta) -> str:
    return lasting(span.total_seconds())


def _ms(milliseconds: int) -> str:
    return lasting(milliseconds / 1000)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(".")[:200]


TASK = Task(
    name="checkpoint_health",
    title="Checkpoint health",
    question="Do the job's checkpoints complete in time, on storage that outlives the cluster?",
    confirmed_means="checkpoints fail, take too long, or are kept where they do not survive the cluster",
    ruled_out_means="checkpoints complete in time and are kept",
    needs=("jobs",),
    cost="nothing but what Flink reports",
    reads="nothing",
)
MAX_RUNS = 10
_IN_MEMORY = "JobManagerCheckpointStorage"
_LOCAL = {"", "file"}
_COLUMNS = ("run", "state", "completed", "failed", "failed last", "every", "longest", "problems")


@answers(TASK)
def answer(_spark: SparkSession, ask: Ask) -> Answer:
    """Of the newest run, of those that live, and of those that wrote in the window; at most the ten newest.

    Flink lists the newest ten checkpoints of a run or so (`web.checkpoints.history`); counts are of the whole run.
    Storage and settings are judged by the newest run. Where Flink does not tell them, nothing is ruled out.
    """
    world = ask.observation
    if isinstance(world.jobs, NotSeen):
        raise Inconclusive(world.jobs)
    runs = _of_interest(ask, world.jobs.values)
    if not runs:
        raise inconclusive(
            source=world.jobs.source,
            reason="Flink remembers no run of this job.",
            remedy="Name the job in the configuration as Flink names it; set `history_server` for runs that ended.",
        )
    now = world.table.read_at
    healths = tuple(health_of(run, ask.contract.checkpoint_every, now) for run in runs)
    is_durable, of_storage = _storage(runs[0])
    finding = CheckpointHealthFinding(runs=healths, is_durable=is_durable, problems=of_storage)
    return _told(runs, finding, world.jobs.source)


def _of_interest(ask: Ask, runs: tuple[JobRun, ...]) -> tuple[JobRun, ...]:
    """Newest first."""
    newest_first = sorted(runs, key=lambda run: run.started_at, reverse=True)
    wrote = {commit.job_id for commit in ask.window.of(ask.observation.table)}
    chosen = [run for place, run in enumerate(newest_first) if place == 0 or not run.is_terminal or run.job_id in wrote]
    return tuple(chosen[:MAX_RUNS])


def _storage(run: JobRun) -> tuple[bool | None, tuple[str, ...]]:
    """Whether its checkpoints outlive cluster and cancel, and what stands against it.

    None also for a local path: nobody can see from here whether it is a mount that all machines share.
    """
    settings = run.settings or CheckpointSettings()
    problems = []
    if settings.mode == "at_least_once":
        problems.append("Checkpoints are taken at least once: a restore writes some rows twice.")
    if settings.storage == _IN_MEMORY:
        problems.append("Checkpoints are kept in the JobManager's memory and end with it.")
        return False, tuple(problems)
    if settings.survives_cancel is False:
        problems.append("Checkpoints are deleted when the run ends in any way: set RETAIN_ON_CANCELLATION.")
        return False, tuple(problems)
    schemes = {urlsplit(c.path).scheme for c in run.checkpoints if c.path is not None}
    is_known = settings.survives_cancel is not None and schemes and not schemes & _LOCAL
    return True if is_known else None, tuple(problems)


def _unseen(run: JobRun) -> NotSeen:
    """Why it is not known where the checkpoints would be after a loss."""
    local = sorted(c.path for c in run.checkpoints if c.path is not None and urlsplit(c.path).scheme in _LOCAL)
    source = f"the storage of the checkpoints of run {short_job(run.job_id)}"
    if local:
        return NotSeen(
            source=source,
            reason=f"They are written to a local path ({local[-1]}); whether all machines share it cannot be seen.",
            remedy="Make sure that it is a shared mount, or set execution.checkpointing.dir to object storage.",
        )
    return NotSeen(
        source=source,
        reason="Flink shows neither all of its checkpoint settings nor the path of a checkpoint.",
        remedy="Ask again when a checkpoint has completed.",
    )


def _told(runs: tuple[JobRun, ...], finding: CheckpointHealthFinding, source: str) -> Answer:
    troubled = [health for health in finding.runs if health.problems]
    unknown = finding.is_durable is None and not troubled and not finding.problems
    verdict = Verdict.INCONCLUSIVE if unknown else Verdict.RULED_OUT
    if troubled or finding.problems:
        verdict = Verdict.CONFIRMED
    newest = finding.runs[0]
    return Answer(
        verdict=verdict,
        headline=_headline(finding, troubled),
        measures=(
            Measure(name="completed checkpoints of the newest run", value=newest.completed, unit="checkpoints"),
            Measure(name="failed checkpoints of the newest run", value=newest.failed, unit="checkpoints"),
            *(
                [Measure(name="longest checkpoint of the newest run", value=newest.longest_ms, unit="ms")]
                if newest.longest_ms is not None
                else []
            ),
        ),
        columns=_COLUMNS,
        rows=tuple(_row(run, health) for run, health in zip(runs, finding.runs, strict=True))[:MAX_ROWS],
        finding=finding,
        sources=(source,),
        could_not_look=(_unseen(runs[0]),) if finding.is_durable is None else (),
    )


def _headline(finding: CheckpointHealthFinding, troubled: list[RunHealth]) -> str:
    newest = finding.runs[0]
    completed = counted(newest.completed, "checkpoint")
    if troubled:
        worst = troubled[0]
        said = [*worst.problems, *finding.problems]
        more = f" ({len(said) - 1} more)" if len(said) > 1 else ""
        return f"Run {short_job(worst.job_id)}{more}: {worst.problems[0]}"
    if finding.problems:
        more = f" ({len(finding.problems) - 1} more)" if len(finding.problems) > 1 else ""
        return f"{completed} of run {short_job(newest.job_id)} completed in time{more}: {finding.problems[0]}"
    if finding.is_durable is None:
        return (
            f"{completed} of run {short_job(newest.job_id)} completed in time, but whether they outlive the cluster "
            "is not known."
        )
    failed = f", {newest.failed:,} failed" if newest.failed else ", none failed"
    return f"{completed} of run {short_job(newest.job_id)} completed{failed}; they are in time and kept durably."


def _row(run: JobRun, health: RunHealth) -> tuple[str, ...]:
    return (
        short_job(run.job_id),
        run.state + (" (history)" if run.from_history else ""),
        str(health.completed),
        str(health.failed),
        str(health.failed_in_a_row),
        cell(f"{health.seen_interval_ms:,} ms" if health.seen_interval_ms is not None else None),
        cell(f"{health.longest_ms:,} ms" if health.longest_ms is not None else None),
        " ".join(health.problems) or "none",
    )
