"""A clean-up deletes the metadata file that the catalog points at; nobody can open the table."""

from bot.lab.errors import LabError
from bot.lab.world import World

NAME = "metadata-file-removed"
SUMMARY = "The table's current metadata file disappears while the job is stopped: the table cannot be opened."


def tell(world: World, early: bool) -> None:
    """Ends with the job stopped and its restart refused. `early`: returns right after the deletion."""
    job = world.running_job()
    world.await_commits(job, 3)
    world.await_first_reads()
    good = world.stop(job)
    paired = world.commits_of(job)[-1]
    gone = world.hands.remove_metadata_file()
    world.note(
        f"Run A ({job[:8]}) was stopped with savepoint {good.checkpoint_id}; a clean-up deleted the current metadata",
        run_a=job,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
        removed_file=gone,
    )
    if not early:
        try:
            world.start_job(from_path=good.path)
        except LabError as refused:
            world.note("The job cannot be started again", refused=refused.found[:400])
