"""A commit was applied while its answer was lost, and came again: its files are in the table twice.

Constructed: the second commit is made by hand, with the same files and the same Flink properties, while the job is
stopped. No catalog of this lab loses answers.
"""

from bot.lab.world import World

NAME = "committed-twice"
SUMMARY = "The last commit before a restart is there twice, with the same files (constructed)."


def tell(world: World, early: bool) -> None:
    """Ends with the next run committing above the repeated commit. `early`: returns before that run starts."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    good = world.stop(first)
    once = next(link for link in reversed(world.commits_of(first)) if link.added_rows > 0)
    again = world.hands.commit_again(once.snapshot_id)
    world.note(
        f"Checkpoint {once.checkpoint_id} of run A ({first[:8]}) was committed a second time, the same files again",
        run_a=first,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=once.snapshot_id,
        first_wrong_snapshot=again,
    )
    if early:
        return
    second = world.start_job(from_path=good.path)
    world.await_commits(second, 2)
    world.note(f"Run B ({second[:8]}) went on from savepoint {good.checkpoint_id}", run_b=second)
