"""Whether a run began without state, although Flink's latest restore names a checkpoint: its own, after a failover."""

from datetime import datetime

from bot.domain.flink import JobRun


def began_without_state(run: JobRun, first_commit: datetime | None) -> bool:
    """Whether Flink restored it from nothing at its start: it was never restored, or once only and after it had
    completed a checkpoint of its own or committed.

    `first_commit`: when its first commit came; None where there is none. A JobManager that took over counts anew and
    starts anew, so what lies before its start says nothing.
    """
    if run.restored is None:
        return run.restored_count == 0
    if run.restored_count != 1 or run.restored.is_savepoint:
        return False
    done = [c.triggered_at for c in run.checkpoints] + ([first_commit] if first_commit is not None else [])
    return any(run.started_at <= each < run.restored.at for each in done)
