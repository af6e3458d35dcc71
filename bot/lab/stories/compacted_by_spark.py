"""Maintenance compacts the table between two commits of the job; the rows are the same."""

from bot.lab.world import World

NAME = "compacted-by-spark"
SUMMARY = "Spark compacts the table in between the job's commits; nothing is wrong."


def tell(world: World, early: bool) -> None:
    """Ends with the job committing above the compaction. `early`: returns right after it."""
    job = world.running_job()
    world.await_commits(job, 4)
    world.await_first_reads()
    world.hands.compacts()
    newest = max(link.checkpoint_id or 0 for link in world.commits_of(job))
    world.note("Spark compacted the table", run_a=job)
    if not early:
        world.await_commits(job, 2, after=newest)
