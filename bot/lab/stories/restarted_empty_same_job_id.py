"""The job starts without a savepoint, under the job id that it had before.

V2 sink: its committer finds the old maximum of this job id on the table and drops every commit below it. V1 sink:
it commits at once, and the source has begun with its first position: duplicates.
"""

from bot.lab.world import World

NAME = "restarted-empty-same-job-id"
SUMMARY = "The job starts without state under its old job id: the V2 sink drops its commits."


def tell(world: World, early: bool) -> None:
    """Ends with three completed checkpoints of the new start. `early`: returns with the first."""
    job = world.running_job()
    world.await_commits(job, 6)
    world.await_first_reads()
    good = world.stop(job)
    paired = world.commits_of(job)[-1]
    world.machines.restart_jobmanager()
    world.clear_checkpoints(job)
    world.start_job(job_id=job)
    world.note(
        f"Job {job[:8]} was stopped with savepoint {good.checkpoint_id} and started without it, under the same job id",
        run_a=job,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
    )
    world.await_checkpoints(job, 0, 1 if early else 3)
    if not early:
        world.note(f"Checkpoints {sorted(world.flink.completed(job))} completed")
