"""The table is rolled back while the job recovers from the loss of its TaskManager.

The checkpoint that Flink restores still names a Flink manifest that was deleted when it was committed; with the
commit gone from main, the sink wants to commit it again and does not find it. The job fails again and again.
"""

import time

from bot.lab.errors import LabError
from bot.lab.world import World

NAME = "rolled-back-then-failed-over"
SUMMARY = "The table is rolled back during a failover: the job looks for a deleted Flink manifest, in a loop."
ATTEMPTS = 4
_REFRESHED_S = 1.0
"""The lab's Flink tells of a checkpoint up to half a second late; a new TaskManager takes several."""


def tell(world: World, early: bool) -> None:
    """Ends with the job in its restart loop. `early`: returns right after the rollback."""
    job = world.running_job()
    world.await_commits(job, 4)
    world.await_first_reads()
    for _ in range(ATTEMPTS):
        newest = max(link.checkpoint_id or 0 for link in world.commits_of(job))
        world.await_commits(job, 1, after=newest)
        killed = world.machines.kill_taskmanager()
        time.sleep(_REFRESHED_S)
        chain = world.commits_of(job)
        if world.flink.completed(job)[0] == chain[-1].checkpoint_id and chain[-1].added_rows > 0:
            break
        world.machines.await_new_taskmanager(killed)
        world.await_commits(job, 2, after=newest + 1)
    else:
        raise LabError(
            "The TaskManager never died between a commit and the next checkpoint.",
            f"Expected it within {ATTEMPTS} attempts; each time a completed checkpoint was not committed yet.",
            "Tell the story again on a machine that does less.",
        )
    target = chain[-3]
    left = world.hands.roll_back_to(target.snapshot_id)
    world.note(
        f"The TaskManager (process {killed}) was killed; then someone rolled the table back from checkpoint "
        f"{chain[-1].checkpoint_id} to {target.checkpoint_id}",
        run_a=job,
        killed_pid=killed,
        left_head=left,
        paired_snapshot=target.snapshot_id,
        rolled_back_to_checkpoint=target.checkpoint_id or 0,
    )
    if not early:
        world.await_failure(job, "NotFoundException")
        world.note(f"Job {job[:8]} fails with NotFoundException and restarts")
