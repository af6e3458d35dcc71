"""The job is drained when it is stopped, and restored from that savepoint.

V1 sink: the last commit carries the highest checkpoint id there is, and no later one is ever committed.

The lab's table usually gets a snapshot for each empty checkpoint, and the drained job's empty last one would hide the
fault under a usual id; so Iceberg's own default comes back first.
"""

from bot.lab.world import World

NAME = "restored-after-drain"
SUMMARY = "The job is stopped with --drain and restored: the V1 sink never commits again."
ICEBERGS_DEFAULT = "10"


def tell(world: World, early: bool) -> None:
    """Ends with three completed checkpoints of the restored run. `early`: returns when it was submitted."""
    started = world.running_job()
    world.await_commits(started, 1)
    before = world.stop(started)
    world.hands.set_property("flink.max-continuous-empty-commits", ICEBERGS_DEFAULT)
    first = world.start_job(from_path=before.path)
    good = world.await_commits(first, 3)[-1]
    world.await_first_reads()
    first, drained = world.stop_with_rows(first, drain=True)
    last = world.commits_of(first)[-1]
    second = world.start_job(from_path=drained.path)
    world.note(
        f"Run A ({first[:8]}) was drained with savepoint {drained.checkpoint_id}; its last commit carries checkpoint "
        f"{last.checkpoint_id}. Run B ({second[:8]}) was started from that savepoint",
        run_a=first,
        run_b=second,
        drained_savepoint=drained.path,
        drained_checkpoint=drained.checkpoint_id,
        last_before_drain=good.snapshot_id,
        last_snapshot=last.snapshot_id,
        last_checkpoint=last.checkpoint_id or 0,
    )
    if not early:
        world.await_checkpoints(second, drained.checkpoint_id, 3)
