"""A TaskManager dies and another takes its place; Flink recovers by itself and nothing is wrong."""

from bot.lab.world import World

NAME = "task-manager-killed"
SUMMARY = "The TaskManager is killed; the job recovers by itself, exactly once."


def tell(world: World, early: bool) -> None:
    """Ends with the job committing again under the same id. `early`: returns right after the kill."""
    job = world.running_job()
    before = world.await_commits(job, 3)[-1]
    world.await_first_reads()
    gone = world.machines.kill_taskmanager()
    world.note(f"The TaskManager (process {gone}) was killed", run_a=job, killed_pid=gone)
    if early:
        return
    new = world.machines.await_new_taskmanager(gone)
    commits = world.await_commits(job, 2, after=max(_newest(world, job), before.checkpoint_id or 0))
    world.note(
        f"A new TaskManager (process {new}) took over; the job committed checkpoint {commits[0].checkpoint_id}",
        new_pid=new,
        first_snapshot_after=commits[0].snapshot_id,
    )


def _newest(world: World, job: str) -> int:
    return max(link.checkpoint_id or 0 for link in world.commits_of(job))
