"""Another team's Spark job deletes rows between two commits of the job."""

from bot.lab.world import World

NAME = "deleted-by-spark"
SUMMARY = "A Spark job deletes rows in between the job's commits: a hole that Flink did not make."


def tell(world: World, early: bool) -> None:
    """Ends with the job committing above the delete. `early`: returns right after it."""
    job = world.running_job()
    commits = world.await_commits(job, 4)
    world.await_first_reads()
    world.hands.sql("DELETE FROM {table} WHERE source_position BETWEEN 5 AND 14")
    chain = world.table.history()
    newest = max(link.checkpoint_id or 0 for link in world.commits_of(job))
    world.note("A Spark job deleted positions 5 to 14", run_a=job, paired_snapshot=commits[-1].snapshot_id)
    if not early:
        world.await_commits(job, 2, after=newest)
        world.note(f"Run A ({job[:8]}) commits above it; the table has had {len(chain)} heads")
