"""The job is stopped with a savepoint in the state backend's own format and started from it; nothing is wrong."""

from bot.lab.world import World

NAME = "planned-restart-native"
SUMMARY = "The job is stopped with a savepoint in native format and goes on from it, exactly once."


def tell(world: World, early: bool) -> None:
    """Ends with the second run committing on top of the first. `early`: returns when it has started."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    good = world.stop(first, form="NATIVE")
    paired = world.commits_of(first)[-1]
    second = world.start_job(from_path=good.path)
    world.note(
        f"Run A ({first[:8]}) was stopped with native savepoint {good.checkpoint_id}, run B ({second[:8]}) went on "
        "from it",
        run_a=first,
        run_b=second,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
    )
    if not early:
        world.await_commits(second, 2)
