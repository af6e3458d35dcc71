"""The job fails and does not come back; the table is as the last commit left it."""

from bot.lab.errors import until
from bot.lab.world import World

NAME = "job-failed"
SUMMARY = "The job fails for good: no snapshot is added, and the table is fine."


def tell(world: World, early: bool) -> None:
    """Ends with the job FAILED. `early`: returns when its TaskManager was killed."""
    first = world.running_job()
    world.await_commits(first, 2)
    good = world.stop(first)
    job = world.start_job(from_path=good.path, properties={"restart-strategy.type": "none"})
    world.await_commits(job, 2)
    world.await_first_reads()
    killed = world.machines.kill_taskmanager()
    world.note(
        f"Run {job[:8]}, which does not restart, lost its TaskManager (process {killed})",
        run_a=first,
        run_b=job,
        killed_pid=killed,
    )
    if not early:
        page = f"{world.state.flink_url}/#/job/{job}"
        until(f"job {job} to fail", lambda: world.flink.state_of(job) == "FAILED" or None, 120, page)
        world.note("The job has failed", paired_snapshot=world.commits_of(job)[-1].snapshot_id)
