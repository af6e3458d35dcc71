"""The job is deployed anew without its state, and its source begins at the newest position instead of the last read."""

from bot.lab.proof import prove
from bot.lab.world import World

NAME = "source-began-too-late"
SUMMARY = "The job starts without state at the source's newest position: what came meanwhile is never read."
SKIPPED = 50


def tell(world: World, early: bool) -> None:
    """Ends with the new run committing above the hole. `early`: returns when it was submitted."""
    first = world.running_job()
    world.await_commits(first, 4)
    world.await_first_reads()
    good = world.stop(first)
    last = prove(world.table).highest
    paired = world.commits_of(first)[-1]
    second = world.start_job(first_position=last + SKIPPED + 1)
    world.note(
        f"Run A ({first[:8]}) was stopped at position {last}; run B ({second[:8]}) was started without its state, and "
        f"its source began at {last + SKIPPED + 1}",
        run_a=first,
        run_b=second,
        good_savepoint=good.path,
        paired_snapshot=paired.snapshot_id,
        first_missing=last + 1,
        missing_positions=SKIPPED,
    )
    if not early:
        commits = world.await_commits(second, 3)
        world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}", first_wrong_snapshot=commits[0].snapshot_id)
