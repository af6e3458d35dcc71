"""F25: the run writes its checkpoints into folders that an earlier start under the same job id has filled.

A restore of checkpoint 4 under the same id counts on with 5, and `chk-5` is there already: 5 and every further one
fail until a number is free. Meanwhile nothing is committed. Flink removes the folder of a checkpoint that it could not
finalize, so afterwards the old folder is often gone; that the old start had committed the number then tells of it.
"""

from bot.diagnosis._support.case import checkpoints, listed, time_in, unseen
from bot.history.case import Case
from bot.history.starts import came_up_at, flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import CheckpointId, SnapshotId, short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F25",
    name="checkpoint_folder_taken",
    title="checkpoints fail because their folders are taken",
    needs=(),
    false_positives=("Storage that is full or refuses to write: then other numbers fail as well.",),
    neighbours={
        "F3": "There Flink completes the checkpoints and the sink skips them. Here the checkpoints fail.",
        "F14": "There one id has several starts, which alone fails no checkpoint. Here the folders of an "
        "earlier start are in the way.",
        "F20": "There checkpoints fail for another reason. Here just those fail whose folders an earlier start "
        "under the same job id has filled.",
    },
    act=Act.RECOVER,
    remedies=(Remedy.FREE_CHECKPOINT_FOLDER, Remedy.NOTHING),
)
_TAKEN = ("already exists", "filealreadyexists", "target exists", "file exists")
_LAST_STEP = "finalize"
"""Flink's word when every task had answered and only the checkpoint's own file could not be written."""


def examine(case: Case) -> Examined:
    """Matches on failed ids above the restored one whose folders are older than the restore, by date or by word."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    runs = case.runs
    for run in reversed(runs):
        taken = collided(case, run)
        if taken:
            return _matches(case, run, taken)
    suspects = [run for run in runs if _failed_after_restore(run)]
    if not suspects:
        return Excluded(reason="No run was restored and then failed the checkpoints that follow in number.")
    run, stored = suspects[-1], case.observation.checkpoints
    if isinstance(stored, NotSeen):
        return CannotTell(missing=(unseen(stored),))
    return Excluded(
        reason=f"Run {short_job(run.job_id)} failed {checkpoints(_failed_after_restore(run))} after "
        "its restore, but no folder of these numbers is older than the restore."
    )


def collided(case: Case, run: JobRun) -> tuple[CheckpointId, ...]:
    """The failed ids whose folders were there before; empty where neither Flink's words, nor storage, nor commits of
    the same job id before this start show it."""
    failed = _failed_after_restore(run)
    if not failed or run.restored is None:
        return ()
    said = [
        c.checkpoint_id
        for c in run.checkpoints
        if c.checkpoint_id in failed and any(word in (c.failure or "").lower() for word in _TAKEN)
    ]
    older = [
        s.checkpoint_id
        for s in case.observation.checkpoints.values
        if s.job_id == run.job_id
        and s.checkpoint_id in failed
        and s.kind is not CheckpointKind.STOP_SAVEPOINT
        and s.written_at < run.started_at
    ]
    committed = {
        c.checkpoint_id
        for c in flink_commits(case.observation.table)
        if c.job_id == run.job_id and c.committed_at < run.started_at
    }
    used = [
        c.checkpoint_id
        for c in run.checkpoints
        if c.checkpoint_id in failed and c.checkpoint_id in committed and _LAST_STEP in (c.failure or "").lower()
    ]
    return tuple(sorted({i for i in (*said, *older, *used) if i is not None}))


def _failed_after_restore(run: JobRun) -> tuple[CheckpointId, ...]:
    """Ids above the restored one that failed since the run started, rising.

    Where a failed checkpoint fails the job, each failover restores the same checkpoint again: the moment of the
    restore that Flink tells is then later than all the failures.
    """
    if run.restored is None:
        return ()
    at, restored = run.started_at, run.restored.checkpoint_id
    return tuple(
        sorted(
            c.checkpoint_id
            for c in run.checkpoints
            if c.status == "FAILED" and c.triggered_at >= at and c.checkpoint_id > restored
        )
    )


def _matches(case: Case, run: JobRun, taken: tuple[CheckpointId, ...]) -> Matches:
    assert run.restored is not None
    done = min(
        (c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED" and c.checkpoint_id > taken[-1]),
        default=None,
    )
    reasons = [
        f"Flink restored run {short_job(run.job_id)}, started at {time_in(case, run.started_at)}, from checkpoint "
        f"{run.restored.checkpoint_id}, and {listed(taken)} failed since.",
        "Under the same job id these numbers had been used before that start.",
    ]
    if done is None:
        reasons.append("Every number up to the highest old folder will fail, and nothing is committed meanwhile.")
    else:
        reasons.append(f"Checkpoint {done} found a free number and completed: the rest comes by itself.")
    return Matches(
        headline=f"{checkpoints(taken).capitalize()} of run {short_job(run.job_id)} failed: the folders were taken.",
        reasons=tuple(reasons),
        last_good=_before_restore(case, run) if done is None else None,
        remedy=Remedy.FREE_CHECKPOINT_FOLDER if done is None else Remedy.NOTHING,
    )


def _before_restore(case: Case, run: JobRun) -> SnapshotId | None:
    """The job's newest commit before the restore."""
    at = came_up_at(run)
    before = [c.snapshot_id for c in flink_commits(case.observation.table) if c.committed_at < at]
    return before[-1] if before else None
