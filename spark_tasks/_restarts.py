"""What Flink tells of a run's restarts: whether a checkpoint's rows were read again.

A checkpoint that is in progress when a job fails leaves its Flink manifest behind, and its rows are read again. Flink
shows only the newest restore of a run, so after a second failover such a manifest looks like one of a checkpoint that
was completed and passed over.
"""

from collections.abc import Iterable

from bot.domain.beginnings import is_its_own
from bot.domain.flink import FlinkManifest, JobRun, Restored, names_run
from bot.domain.table import TableState


def went_back(leak: FlinkManifest, runs: Iterable[JobRun], table: TableState) -> JobRun | None:
    """A run that was restored from below the manifest's checkpoint after it was written: by a failover of the run that
    wrote it, or from a point of that run or of one before it."""
    for run in runs:
        point = run.restored
        if point is None or leak.written_at is None or point.checkpoint_id >= leak.checkpoint_id:
            continue
        if point.at < leak.written_at:
            continue
        if _wrote(run, leak) or (not is_its_own(point, run) and _is_of_its_past(point, leak, table)):
            return run
    return None


def was_completed(leak: FlinkManifest, run: JobRun) -> bool:
    """Whether Flink lists the manifest's checkpoint as completed by the submission that wrote it."""
    listed = any(c.checkpoint_id == leak.checkpoint_id and c.status == "COMPLETED" for c in run.checkpoints)
    return listed and _wrote(run, leak)


def ran_through(leak: FlinkManifest, run: JobRun) -> bool:
    """Whether the run that wrote the manifest has neither failed nor been restored since, as Flink's newest restore
    and failures show; of one that is over, also that it completed the checkpoint or a later one."""
    if leak.written_at is None or not _wrote(run, leak):
        return False
    if any(failure.at >= leak.written_at for failure in run.failures):
        return False
    if run.restored.at >= leak.written_at if run.restored else run.restored_count:
        return False
    done = (c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED")
    return not run.is_terminal or any(checkpoint >= leak.checkpoint_id for checkpoint in done)


def _wrote(run: JobRun, leak: FlinkManifest) -> bool:
    """Whether it is the submission that wrote the manifest: one before it may have had the same job id."""
    return run.job_id == leak.job_id and leak.written_at is not None and leak.written_at >= run.started_at


def _is_of_its_past(point: Restored, leak: FlinkManifest, table: TableState) -> bool:
    """Whether the point is of the run that wrote the manifest, or of one whose commits on main are all older."""
    if names_run(point.path, leak.job_id):
        return True
    theirs = [s for s in table.chain if s.job_id is not None and names_run(point.path, s.job_id)]
    return bool(theirs) and all(leak.written_at is None or s.committed_at < leak.written_at for s in theirs)
