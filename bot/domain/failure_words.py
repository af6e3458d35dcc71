"""What Flink says of a failure: how much of it is kept, and how it leaves the bot."""

from collections.abc import Callable

from bot.domain.flink import CompletedCheckpoint, Failure, JobRun

LONGEST_MESSAGE, LONGEST_CAUSE = 300, 600
"""Characters that are kept of the first line of a trace, and of each cause."""


def veiled_run(run: JobRun, veil: Callable[[str], str]) -> JobRun:
    """The same run; what Flink says of its failures, and of those of its checkpoints, shows nothing that `veil` takes
    away: exceptions name files, and the paths of files carry values."""
    failures = tuple(_veiled_failure(each, veil) for each in run.failures)
    checkpoints = tuple(_veiled_checkpoint(each, veil) for each in run.checkpoints)
    return run.model_copy(update={"failures": failures, "checkpoints": checkpoints})


def _veiled_failure(failure: Failure, veil: Callable[[str], str]) -> Failure:
    told = {
        "exception": veil(failure.exception),
        "message": veil(failure.message)[:LONGEST_MESSAGE],
        "causes": tuple(veil(cause)[:LONGEST_CAUSE] for cause in failure.causes),
    }
    return failure.model_copy(update=told)


def _veiled_checkpoint(checkpoint: CompletedCheckpoint, veil: Callable[[str], str]) -> CompletedCheckpoint:
    said = None if checkpoint.failure is None else veil(checkpoint.failure)
    return checkpoint.model_copy(update={"failure": said})
