"""The job is restored from an older savepoint under the job id that it had before.

Either sink finds the old maximum of this job id on the table: nothing is committed until the ids have passed it.
"""

from bot.lab.world import World

NAME = "restored-older-same-job-id"
SUMMARY = "The job is restored from an older savepoint under its old job id: its commits are withheld."


def tell(world: World, early: bool) -> None:
    """Ends with checkpoints that completed and were not committed. `early`: returns with the first of them."""
    job = world.running_job()
    world.await_commits(job, 3)
    older = world.savepoint(job)
    world.await_commits(job, 6, after=older.checkpoint_id)
    world.await_first_reads()
    good = world.stop(job)
    paired = world.commits_of(job)[-1]
    world.machines.restart_jobmanager()
    world.clear_checkpoints(job)
    world.start_job(from_path=older.path, job_id=job)
    world.note(
        f"Job {job[:8]} was stopped with savepoint {good.checkpoint_id} and restored from savepoint "
        f"{older.checkpoint_id}, under the same job id",
        run_a=job,
        older_savepoint=older.path,
        older_checkpoint=older.checkpoint_id,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
    )
    world.await_checkpoints(job, older.checkpoint_id, 1 if early else 3)
