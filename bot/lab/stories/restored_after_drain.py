"""The job is drained when it is stopped, and restored from that savepoint.

V1 sink: the last commit carries the highest checkpoint id there is, and no later one is ever committed.
"""

from bot.lab.world import World

NAME = "restored-after-drain"
SUMMARY = "The job is stopped with --drain and restored: the V1 sink never commits again."


def tell(world: World, early: bool) -> None:
    """Ends with three completed checkpoints of the restored run. `early`: returns when it was submitted."""
    first = world.running_job()
    before = world.await_commits(first, 3)[-1]
    world.await_first_reads()
    drained = world.stop(first, drain=True)
    last = world.commits_of(first)[-1]
    second = world.start_job(from_path=drained.path)
    world.note(
        f"Run A ({first[:8]}) was drained with savepoint {drained.checkpoint_id}; its last commit carries checkpoint "
        f"{last.checkpoint_id}. Run B ({second[:8]}) was started from that savepoint",
        run_a=first,
        run_b=second,
        drained_savepoint=drained.path,
        drained_checkpoint=drained.checkpoint_id,
        last_before_drain=before.snapshot_id,
        last_snapshot=last.snapshot_id,
        last_checkpoint=last.checkpoint_id or 0,
    )
    if not early:
        world.await_checkpoints(second, drained.checkpoint_id, 3)
