"""A second job is started from a savepoint of the first, and both write the table."""

from bot.lab.world import World

NAME = "forked-from-a-savepoint"
SUMMARY = "A second job starts from a savepoint of the running one, and both write the table."


def tell(world: World, early: bool) -> None:
    """Ends with commits of both between each other's. `early`: returns when the second was submitted."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    shared = world.savepoint(first)
    second = world.start_job(from_path=shared.path)
    world.note(
        f"A second job ({second[:8]}) was started from savepoint {shared.checkpoint_id} of run A ({first[:8]}), "
        "which goes on",
        run_a=first,
        run_b=second,
        shared_savepoint=shared.path,
        shared_checkpoint=shared.checkpoint_id,
    )
    if early:
        return
    commits = world.await_commits(second, 2)
    newest = max(link.checkpoint_id or 0 for link in world.commits_of(first))
    world.await_commits(first, 2, after=newest)
    world.note("Both commit", first_wrong_snapshot=commits[0].snapshot_id, paired_snapshot=commits[0].parent_id or 0)
