"""A column is added while the job runs; the job goes on writing the schema that it started with."""

from bot.lab.world import World

NAME = "column-added"
SUMMARY = "A column is added under the running job: the job leaves it empty."


def tell(world: World, early: bool) -> None:
    """Ends with commits after the change. `early`: returns right after it."""
    job = world.running_job()
    world.await_commits(job, 3)
    world.await_first_reads()
    newest = max(link.checkpoint_id or 0 for link in world.commits_of(job))
    world.hands.sql("ALTER TABLE {table} ADD COLUMN channel STRING")
    world.note("Someone added the column channel", run_a=job)
    if not early:
        world.await_commits(job, 2, after=newest + 1)
