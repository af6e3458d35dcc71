"""A restore point that the run which is to be stopped may own: Flink deletes with a run what it had claimed."""

from bot.domain.flink import JobRun
from bot.domain.ids import short_job


def may_go(live: JobRun | None, path: str) -> str | None:
    """`path`, where the stop of `live` may delete it; None where it does not."""
    return path if live is not None and live.may_own(path) else None


def said_of(live: JobRun | None, path: str) -> tuple[str, ...]:
    """Of a preview: what the approvers look up, and what happens if the point is gone. Empty where it cannot go."""
    if live is None or may_go(live, path) is None:
        return ()
    return (
        f"Before you approve: run {short_job(live.job_id)} may own {path}. If it was restored in CLAIM mode "
        "(execution.state-recovery.claim-mode; Flink does not tell), Flink deletes what it was restored from when it "
        "ends: then copy the savepoint's folder beside it first, under a name that begins with savepoint-, collect "
        "evidence again, and propose from the copy. "
        "Should it be gone after the stop, nothing that follows is done: main is not moved and no run is started.",
    )
