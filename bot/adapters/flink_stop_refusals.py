"""Why a run is not stopped although nobody is against it: the state that is needed afterwards would go with it."""

from bot.domain.errors import CommitRefused
from bot.domain.ids import JobId, short_job


def checkpoint_would_go(job_id: JobId, *, is_at_a_stop: bool) -> CommitRefused:
    """The refusal of a cancel before a start from one of the run's checkpoints.

    `is_at_a_stop`: a stop-with-savepoint was asked for before; else Flink deletes the checkpoints of a cancelled run.
    """
    if is_at_a_stop:
        found = "Flink is at a stop-with-savepoint of it, which was asked for before"
        remedy = "Wait until that stop has ended. Then collect evidence again and propose from what it has left."
    else:
        found = "it deletes those of a cancelled run"
        remedy = (
            "Copy that checkpoint's folder away with all that it names, stop the run by hand and start it from the "
            "copy; or set execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION."
        )
    return CommitRefused(
        f"Run {short_job(job_id)} was not cancelled: the checkpoint to start from would go with it.",
        f"Expected Flink to keep it; found: {found}.",
        remedy,
    )
