"""Whose checkpoint a run was restored from: ids begin anew with some restores, so two runs can have the same one."""

from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun, names_run
from bot.domain.ids import CheckpointId, JobId, short_job
from bot.domain.rewinds import flink_commits


def unknown_origin(case: Case) -> str | None:
    """What is missing to know that a restore pairs with the table: several runs have completed a checkpoint of that
    id, and the path does not say that it was the one whose commit main carries. None where there is no such doubt."""
    for run in case.observation.jobs.values:
        if run.restored is None:
            continue
        checkpoint = run.restored.checkpoint_id
        writer = _writer_of(case, checkpoint, run)
        others = {other.job_id for other in case.observation.jobs.values if _has(other, checkpoint)}
        if writer is None or not others - {run.job_id, writer} or names_run(run.restored.path, writer):
            continue
        told = ", ".join(short_job(job_id) for job_id in sorted(others - {run.job_id}))
        return (
            f"whose checkpoint {checkpoint} run {short_job(run.job_id)} was restored from: runs {told} each completed "
            f"one, main carries that of {short_job(writer)}, and Flink's path of the restore does not name it"
        )
    return None


def _writer_of(case: Case, checkpoint: CheckpointId, run: JobRun) -> JobId | None:
    """The other run whose commit of that id main carries last; None where there is none, or it is the run's own.

    A commit that came after the run had ended cannot be what it was restored from.
    """
    ended = run.ended_at
    writers = [
        s.job_id
        for s in flink_commits(case.observation.table)
        if s.checkpoint_id == checkpoint and (ended is None or s.committed_at < ended)
    ]
    return writers[-1] if writers and writers[-1] != run.job_id else None


def _has(run: JobRun, checkpoint: CheckpointId) -> bool:
    return any(each.checkpoint_id == checkpoint and each.status == "COMPLETED" for each in run.checkpoints)
