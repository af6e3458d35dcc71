"""How the checkpoints of one run fare, from what Flink says of it; pure."""

from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from bot.domain.checkpoint_pace import completed_at, interval_of, usual_pause
from bot.domain.findings import RunHealth
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.domain.sentences import counted
from spark_tasks._words import lasting

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
        failed_ids=tuple(c.checkpoint_id for c in failed),
        interval_ms=run.checkpoint_interval_ms,
        seen_interval_ms=round(seen.total_seconds() * 1000) if seen is not None else None,
        longest_ms=longest,
        problems=(
            *_silence(run, done, in_a_row, now),
            *_failures(run, failed, in_a_row),
            *_interval(run, promised, seen),
            *_durations(run, longest),
            *_in_flight(done),
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


def _say(span: timedelta) -> str:
    return lasting(span.total_seconds())


def _ms(milliseconds: int) -> str:
    return lasting(milliseconds / 1000)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(".")[:200]
