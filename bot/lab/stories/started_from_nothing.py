"""The job is deployed anew without its state, under a new job id; the source begins with its first position."""

from bot.lab.world import World

NAME = "started-from-nothing"
SUMMARY = "The job is cancelled and started without any state: everything is written a second time."


def tell(world: World, early: bool) -> None:
    """Ends with the new run committing. `early`: returns when it was submitted."""
    first = world.running_job()
    world.await_commits(first, 4)
    world.await_first_reads()
    world.flink.cancel(first)
    paired = world.commits_of(first)[-1]
    second = world.start_job()
    world.note(
        f"Run A ({first[:8]}) was cancelled; run B ({second[:8]}) was started without state",
        run_a=first,
        run_b=second,
        paired_snapshot=paired.snapshot_id,
    )
    if not early:
        commits = world.await_commits(second, 2)
        world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}", first_wrong_snapshot=commits[0].snapshot_id)
