"""Whether a run was restored from below its own newest commit, where two clocks lie too close to tell."""

from bot.diagnosis._asked import answers
from bot.diagnosis._case import in_window, living, time_in
from bot.domain.diagnosis import Case
from bot.domain.flink import CLOCKS_DIFFER, JobRun, came_before
from bot.domain.ids import short, short_job
from bot.domain.rewinds import flink_commits, untold_rewind


def untold_order(case: Case) -> str | None:
    """What is missing to know that a living run was not restored from below its own newest commit; None: nothing is.

    Once it has committed on, and no position is missing, it was not: a sink that skips commits would leave a hole.
    """
    inside = {s.snapshot_id for s in in_window(case)}
    for run in living(case):
        commit = untold_rewind(case.observation.table, run)
        if commit is None or commit.snapshot_id not in inside or run.restored is None:
            continue
        if (
            _went_on(case, run)
            and case.gaps is not None
            and not case.gaps.missing
            and answers(case, "missing_positions")
        ):
            continue
        return (
            f"whether {short(commit.snapshot_id)}, checkpoint {commit.checkpoint_id}, came before or after Flink "
            f"restored run {short_job(run.job_id)} from checkpoint {run.restored.checkpoint_id}: the times, "
            f"{time_in(case, commit.committed_at)} and {time_in(case, run.restored.at)}, are of two clocks, which may "
            f"differ by {CLOCKS_DIFFER.seconds} seconds, and Flink does not list that checkpoint"
        )
    return None


def _went_on(case: Case, run: JobRun) -> bool:
    mine = [s for s in flink_commits(case.observation.table) if s.job_id == run.job_id]
    return bool(mine) and came_before(mine[-1], run) is False
