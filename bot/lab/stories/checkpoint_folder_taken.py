"""The job is restored from an older retained checkpoint under its old job id, above the folders of later ones.

Each checkpoint whose folder is there already fails, and the ids go on until one is free.
"""

from bot.lab.errors import until
from bot.lab.world import World

NAME = "checkpoint-folder-taken"
SUMMARY = "The job goes back three checkpoints under its old job id: the next ones fail, their folders exist."
BACK = 3


def tell(world: World, early: bool) -> None:
    """Ends with the first checkpoint that completed. `early`: returns with the first that failed."""
    job = world.running_job()
    world.await_commits(job, 6)
    world.await_first_reads()
    world.flink.cancel(job)
    retained = world.flink.completed(job)
    older = retained[BACK]
    paired = next(link for link in world.commits_of(job) if link.checkpoint_id == older)
    world.machines.restart_jobmanager()
    world.start_job(from_path=world.checkpoint_path(job, older), job_id=job)
    world.note(
        f"Job {job[:8]} was cancelled after checkpoint {retained[0]} and restored from {older}, under its old job id",
        run_a=job,
        older_checkpoint=older,
        newest_checkpoint=retained[0],
        older_snapshot=paired.snapshot_id,
    )
    page = f"{world.state.flink_url}/#/job/{job}/checkpoints"
    failed = until("a failed checkpoint", lambda: world.flink.failed(job) or None, 120, page)
    if not early:
        world.await_checkpoints(job, retained[0], 1)
        world.note(f"Checkpoints {sorted(failed)} failed, then {world.flink.completed(job)[0]} completed")
