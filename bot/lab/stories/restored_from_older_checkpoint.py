"""The job is cancelled and started from a retained checkpoint that is not its last: what came since is read again."""

from bot.lab.world import World

NAME = "restored-from-older-checkpoint"
SUMMARY = "The job is cancelled and goes on from an older retained checkpoint: rows are there twice."
BACK = 3


def tell(world: World, early: bool) -> None:
    """Ends with the second run committing rows again. `early`: returns when it has started."""
    first = world.running_job()
    world.await_commits(first, 6)
    world.await_first_reads()
    world.flink.cancel(first)
    retained = world.flink.completed(first)
    older = retained[BACK]
    paired = next(link for link in world.commits_of(first) if link.checkpoint_id == older)
    second = world.start_job(from_path=world.checkpoint_path(first, older))
    world.note(
        f"Run A ({first[:8]}) was cancelled after checkpoint {retained[0]}, run B ({second[:8]}) was started from "
        f"{older}",
        run_a=first,
        run_b=second,
        older_checkpoint=older,
        newest_checkpoint=retained[0],
        older_snapshot=paired.snapshot_id,
    )
    if not early:
        world.await_commits(second, 2)
