"""A clean-up deletes a data file that a commit refers to; the job goes on, and readers fail."""

from bot.lab.world import World

NAME = "data-file-removed"
SUMMARY = "A data file of a committed snapshot disappears from storage: readers fail, the job does not notice."


def tell(world: World, early: bool) -> None:
    """Ends with the job committing on. `early`: returns right after the deletion."""
    job = world.running_job()
    world.await_commits(job, 4)
    world.await_first_reads()
    commits = world.commits_of(job)
    hurt = next(link for link in reversed(commits[:-1]) if link.added_rows > 0)
    gone = world.hands.remove_data_file(hurt.snapshot_id)
    world.note(
        f"A clean-up deleted a data file of checkpoint {hurt.checkpoint_id}",
        run_a=job,
        removed_file=gone,
        first_wrong_snapshot=hurt.snapshot_id,
        paired_snapshot=hurt.parent_id or 0,
    )
    if not early:
        world.await_commits(job, 2, after=commits[-1].checkpoint_id or 0)
