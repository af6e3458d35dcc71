"""A job that waits five minutes before each restart loses its TaskManager; whoever looks meanwhile finds it recovering.

With the lab's own delay of a second the job is back before a bot has started to look.
"""

from bot.lab.errors import until
from bot.lab.world import World

NAME = "restarting-slowly"
SUMMARY = "The TaskManager is killed, and Flink waits five minutes before it restarts the job: it is recovering."
PATIENT = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "300 s"}


def tell(world: World, early: bool) -> None:
    """Ends while Flink waits to restart the job, for five minutes. `early`: returns right after the kill."""
    first = world.running_job()
    world.await_commits(first, 2)
    good = world.stop(first)
    job = world.start_job(from_path=good.path, properties=PATIENT)
    world.await_commits(job, 2)
    world.await_first_reads()
    gone = world.machines.kill_taskmanager()
    world.note(
        f"Run {job[:8]}, which restarts after five minutes, lost its TaskManager (process {gone})",
        run_a=first,
        run_b=job,
        killed_pid=gone,
    )
    if not early:
        page = f"{world.state.flink_url}/#/job/{job}"
        until(f"job {job} to restart", lambda: world.flink.state_of(job) == "RESTARTING" or None, 60, page)
        world.note("Flink has seen it, and waits", paired_snapshot=world.commits_of(job)[-1].snapshot_id)
