"""F27: a checkpoint failed, and its sink lost files of it: V1 under unaligned checkpoints (apache/iceberg #15846).

Files of a checkpoint may arrive at the committer after its state for that checkpoint was taken. The committer then
writes a second Flink manifest in place of the first. Where the checkpoint failed, no commit has taken the first along.
"""

from bot.diagnosis._support.case import listed, not_asked, unseen
from bot.diagnosis._support.leaks import came_again, can_be_appended, in_words
from bot.history.case import Case
from bot.history.starts import flink_commits
from bot.history.uncommitted import is_replaced
from bot.history.unread_points import rows_of
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.ids import short_job
from bot.observation.looked import NotSeen

MODE = Mode(
    code="F27",
    name="late_files_replaced",
    title="a checkpoint failed, and the V1 sink lost files of it",
    needs=("leaked_manifests",),
    false_positives=(
        "The job was started from an older state since, and read the rows again: count positions.",
        "A checkpoint that was slow and completed: then its first files are in the table.",
    ),
    neighbours={
        "F18": "There nobody ever wrote the rows. Here a Flink manifest still lists files with them.",
        "F20": "There a later checkpoint brings the rows of the failed one along. Here it brings only a part.",
    },
    act=Act.REPAIR,
    remedies=(Remedy.RECOVER_LEAKED_MANIFESTS, Remedy.REPLAY_SOURCE_RANGE),
)


def examine(case: Case) -> Examined:
    """Matches on a manifest that its sink replaced, unless positions were counted and its rows came again."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    unsafe = {run.job_id for run in case.runs if run.may_lose_in_flight}
    if not unsafe:
        return Excluded(reason="No run that Flink lists writes with the V1 sink under unaligned checkpoints.")
    if case.leaked is None:
        return CannotTell(missing=(not_asked(case, "leaked_manifests"),))
    lost = tuple(leak for leak in replaced(case) if came_again(leak, case) is not True)
    if lost:
        return _matches(case, tuple(leak for leak in lost if leak.job_id == lost[0].job_id))
    untold = (leak for leak in case.leaked.of(LeakStanding.UNTOLD) if leak.job_id in unsafe and not leak.is_empty)
    if (leak := next((leak for leak in untold if came_again(leak, case) is not True), None)) is not None:
        return CannotTell(missing=(f"whether the sink lost {rows_of((leak,))} so: {leak.reason}",))
    return Excluded(reason="No Flink manifest is left that such a run's sink replaced by another one.")


def replaced(case: Case) -> tuple[LeakedManifest, ...]:
    """Manifests in place of which their sink has written newer ones, by checkpoint id."""
    world = case.observation
    runs = {run.job_id: run for run in case.runs}
    by_path = {each.path: each for each in world.flink_manifests.values}
    dropped = case.leaked.of(LeakStanding.DROPPED) if case.leaked is not None else ()
    found = (
        leak
        for leak in dropped
        if not leak.is_empty
        and leak.job_id in runs
        and leak.path in by_path
        and is_replaced(by_path[leak.path], runs[leak.job_id], world.table)
    )
    return tuple(sorted(found, key=lambda leak: leak.checkpoint_id))


def _matches(case: Case, lost: tuple[LeakedManifest, ...]) -> Matches:
    run, first = lost[0].job_id, lost[0].checkpoint_id
    ids = sorted({leak.checkpoint_id for leak in lost})
    commits = [s for s in flink_commits(case.observation.table) if s.job_id == run and s.checkpoint_id is not None]
    above = [s for s in commits if (s.checkpoint_id or 0) > first]
    below = [s for s in commits if (s.checkpoint_id or 0) < first]
    return Matches(
        headline=f"{'Checkpoint' if len(ids) == 1 else 'Checkpoints'} {listed(ids)} of run {short_job(run)} failed, "
        f"and its sink lost {rows_of(lost)} by that.",
        reasons=(
            in_words(lost),
            "The run writes with the V1 sink and unaligned checkpoints. Files that arrived late took the place of "
            "these in the sink's state (apache/iceberg #15846), and each later commit has passed them over.",
            "It happens again with the next checkpoint that fails: set execution.checkpointing.unaligned.enabled to "
            "false, or write with IcebergSink.",
        ),
        rows=tuple(s.snapshot_id for s in above[:1]),
        last_good=below[-1].snapshot_id if below else None,
        remedy=Remedy.RECOVER_LEAKED_MANIFESTS if can_be_appended(case, lost) else Remedy.REPLAY_SOURCE_RANGE,
    )
