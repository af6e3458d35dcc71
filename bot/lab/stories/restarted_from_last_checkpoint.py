"""The job is cancelled and started from its last retained checkpoint; nothing is wrong."""

from bot.lab.world import World

NAME = "restarted-from-last-checkpoint"
SUMMARY = "The job is cancelled and goes on from its last retained checkpoint, exactly once."


def tell(world: World, early: bool) -> None:
    """Ends with the second run committing on top of the first. `early`: returns when it has started."""
    first = world.running_job()
    world.await_commits(first, 4)
    world.await_first_reads()
    world.flink.cancel(first)
    last = world.flink.completed(first)[0]
    second = world.start_job(from_path=world.checkpoint_path(first, last))
    world.note(
        f"Run A ({first[:8]}) was cancelled, run B ({second[:8]}) went on from its last checkpoint {last}",
        run_a=first,
        run_b=second,
        last_checkpoint=last,
    )
    if not early:
        world.await_commits(second, 2)
