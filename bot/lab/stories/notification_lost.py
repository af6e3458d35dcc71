"""Checkpoints complete, and nobody tells the sink: their files wait in Flink manifests, nothing is lost yet.

Constructed: a wire of the lab drops the JobManager's notifications on their way. Flink, the sink and the manifests are
real; nothing else is touched.
"""

from bot.lab.world import World

NAME = "notification-lost"
SUMMARY = "The word that a checkpoint is complete gets lost: the sink commits nothing (needs --wire, constructed)."
UNHEARD = 6


def tell(world: World, early: bool) -> None:
    """Ends with completed checkpoints whose files wait. `early`: returns with the first."""
    job = world.running_job()
    world.await_commits(job, 3)
    world.await_first_reads()
    world.machines.lose_notifications()
    last = world.commits_of(job)[-1]
    world.note(
        f"No notification arrives since checkpoint {last.checkpoint_id} of run {job[:8]}",
        run_a=job,
        paired_snapshot=last.snapshot_id,
    )
    waiting = world.await_checkpoints(job, last.checkpoint_id or 0, 1 if early else UNHEARD)
    world.note(f"Checkpoints {sorted(waiting)} completed", newest_completed=waiting[0])
