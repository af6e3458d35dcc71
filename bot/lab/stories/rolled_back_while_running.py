"""Someone rolls the table back while the job that writes it runs.

The job does not look back: it appends its next checkpoint to the older snapshot, and the rows between are gone.
"""

from bot.lab.world import World

NAME = "rolled-back-while-running"
SUMMARY = "After a planned restart the table is rolled back under the running job: a hole."


def tell(world: World, early: bool) -> None:
    """Ends with the job appending above the hole; the planned savepoint pairs with the snapshot rolled back to.

    `early`: returns right after the rollback.
    """
    first = world.running_job()
    world.await_commits(first, 4)
    world.await_first_reads()
    good = world.stop(first)
    paired = world.commits_of(first)[-1]
    second = world.start_job(from_path=good.path)
    world.note(
        f"Planned restart: run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}, "
        f"run B ({second[:8]}) went on from it",
        run_a=first,
        run_b=second,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        paired_snapshot=paired.snapshot_id,
    )
    world.await_commits(second, 3)
    left = world.hands.roll_back_to(paired.snapshot_id)
    world.note(f"Someone rolled the table back to snapshot …{paired.snapshot_id % 1_000_000:06d}", left_head=left)
    if early:
        return
    commits = world.await_commits(second, 2)
    world.note(
        f"Run B went on with checkpoint {commits[0].checkpoint_id} on the older snapshot",
        first_wrong_snapshot=commits[0].snapshot_id,
    )
    world.consume("revenue_daily")
