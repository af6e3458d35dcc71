"""How the bodies of Flink's REST interface become a `JobRun`; pure."""

import re
from datetime import UTC, datetime

from bot.adapters.flink_bodies import (
    CheckpointConfig,
    CheckpointEntry,
    Checkpoints,
    Counts,
    Exceptions,
    JobConfig,
    JobDetail,
    Latest,
    RestoredEntry,
)
from bot.domain.failure_words import LONGEST_CAUSE, LONGEST_MESSAGE
from bot.domain.flink import CheckpointKind, CheckpointSettings, CompletedCheckpoint, Failure, JobRun, Restored, Vertex
from bot.domain.ids import CheckpointId, JobId, OperatorId

CODE_VERSION_KEYS = ("code.version", "code-version", "git.sha", "git-sha", "app.git-sha")
"""Global job parameters that name the job's code, in order of preference."""

_KINDS = {
    "CHECKPOINT": CheckpointKind.CHECKPOINT,
    "UNALIGNED_CHECKPOINT": CheckpointKind.CHECKPOINT,
    "SAVEPOINT": CheckpointKind.SAVEPOINT,
    "SYNC_SAVEPOINT": CheckpointKind.STOP_SAVEPOINT,
}
_ATTEMPT = re.compile(r"- execution #(\d+)$")
_CAUSE = re.compile(r"^Caused by: (.+?)\s*$", re.MULTILINE)
MOST_CAUSES = 5
"""Of one failure; a deeper one repeats them."""
_NO_INTERVAL = 2**63 - 1
"""How Flink writes that periodic checkpoints are off."""


def job_run(
    detail: JobDetail,
    checkpoints: Checkpoints,
    config: CheckpointConfig | None,
    exceptions: Exceptions,
    job_config: JobConfig,
    attempts: dict[str, int],
    *,
    from_history: bool = False,
) -> JobRun:
    """One run from its pages; `attempts` maps a vertex id to its highest attempt, missing means 0."""
    counts = checkpoints.counts or Counts()
    restored = checkpoints.latest.restored if checkpoints.latest else None
    return JobRun(
        job_id=JobId(detail.jid),
        name=detail.name,
        state=detail.state,
        started_at=_utc(detail.start_time),
        ended_at=_utc(detail.end_time) if detail.end_time > 0 else None,
        checkpoint_interval_ms=config.interval if config and config.interval != _NO_INTERVAL else None,
        checkpoints=_completed(checkpoints),
        completed_count=counts.completed,
        failed_count=counts.failed,
        restored_count=counts.restored,
        restored=_restored(restored) if restored else None,
        failures=_failures(exceptions),
        vertices=tuple(
            Vertex(
                vertex_id=OperatorId(vertex.id),
                name=vertex.name,
                parallelism=vertex.parallelism,
                status=vertex.status,
                attempt=attempts.get(vertex.id, 0),
            )
            for vertex in detail.vertices
        ),
        code_version=_code_version(job_config),
        settings=_settings(config) if config else None,
        from_history=from_history,
    )


def _completed(checkpoints: Checkpoints) -> tuple[CompletedCheckpoint, ...]:
    """The history and the latest ones that fell out of it (it keeps ten by default), newest first."""
    latest = checkpoints.latest or Latest()
    known = [*(checkpoints.history or ()), latest.completed, latest.savepoint, latest.failed]
    by_id: dict[int, CheckpointEntry] = {}
    for each in known:
        if each is not None:
            by_id.setdefault(each.id, each)
    return tuple(
        CompletedCheckpoint(
            checkpoint_id=CheckpointId(each.id),
            kind=_KINDS.get(each.checkpoint_type, CheckpointKind.UNKNOWN),
            status=each.status,
            triggered_at=_utc(each.trigger_timestamp),
            path=_place(each.external_path),
            discarded=each.discarded,
            failure=each.failure_message,
            took_ms=_told(each.took_ms),
            state_bytes=_told(each.state_bytes),
            alignment_bytes=_told(each.alignment_bytes),
        )
        for each in sorted(by_id.values(), key=lambda each: each.id, reverse=True)
    )


def _place(path: str | None) -> str | None:
    """None also for the words that Flink has in its place where state is kept in the JobManager's memory:
    `<checkpoint-not-externally-addressable>`."""
    return path if path and not path.startswith("<") else None


def _settings(config: CheckpointConfig) -> CheckpointSettings:
    return CheckpointSettings(
        mode=config.mode,
        timeout_ms=config.timeout,
        min_pause_ms=config.min_pause,
        max_concurrent=config.max_concurrent,
        survives_cancel=config.survives_cancel,
        storage=config.storage,
        backend=config.backend,
        is_unaligned=config.is_unaligned,
        tolerable_failures=config.tolerable_failures,
    )


def _restored(restored: RestoredEntry) -> Restored:
    return Restored(
        checkpoint_id=CheckpointId(restored.id),
        at=_utc(restored.restore_timestamp),
        is_savepoint=restored.is_savepoint,
        path=_place(restored.external_path),
    )


def _failures(exceptions: Exceptions) -> tuple[Failure, ...]:
    newest_first = sorted(exceptions.history.entries, key=lambda entry: entry.timestamp, reverse=True)
    failures = []
    for entry in newest_first:
        task = entry.task_name
        attempt = _ATTEMPT.search(task) if task else None
        failures.append(
            Failure(
                at=_utc(entry.timestamp),
                exception=entry.exception_name,
                message=entry.stacktrace.partition("\n")[0].strip()[:LONGEST_MESSAGE],
                task=task,
                attempt=int(attempt.group(1)) if attempt else None,
                causes=tuple(cause_lines(entry.stacktrace)[:MOST_CAUSES]),
            )
        )
    return tuple(failures)


def cause_lines(stacktrace: str) -> list[str]:
    """The first lines of what each `Caused by` names, outermost first."""
    return [str(cause)[:LONGEST_CAUSE] for cause in _CAUSE.findall(stacktrace)]


def _code_version(config: JobConfig) -> str | None:
    said = (config.execution.user_config if config.execution else None) or {}
    return next((said[key] for key in CODE_VERSION_KEYS if said.get(key)), None)


def _told(number: int | None) -> int | None:
    """Flink writes -1 for what is not known (yet)."""
    return number if number is not None and number >= 0 else None


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
