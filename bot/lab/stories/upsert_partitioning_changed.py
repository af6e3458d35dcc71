"""A table that is written by key gets another partitioning; the deletes that the job writes stay in the new one.

An equality delete applies to files of its own partition, and a row that was written before lies in none of these.
"""

from bot.lab.orders import few_keys
from bot.lab.world import World

NAME = "upsert-partitioning-changed"
SUMMARY = "An upsert table gets a partition field of its key: older rows of a key are no longer replaced."
CHANGE = "ALTER TABLE {table} ADD PARTITION FIELD bucket(4, order_id)"


def tell(world: World, early: bool) -> None:
    """Ends with commits under the new partitioning. `early`: returns when the run that writes them was submitted."""
    first = world.running_job()
    world.await_commits(first, 1)
    second = world.start_job(from_path=world.stop(first).path, columns={"order_id": few_keys})
    world.await_commits(second, 6)
    world.await_first_reads()
    good = world.stop(second)
    last_good = world.commits_of(second)[-1]
    world.hands.sql(CHANGE)
    third = world.start_job(from_path=good.path, columns={"order_id": few_keys})
    world.note(
        f"The table is partitioned by bucket(4, order_id) since; run {third[:8]} goes on from savepoint "
        f"{good.checkpoint_id}",
        run_a=second,
        run_b=third,
        paired_snapshot=last_good.snapshot_id,
    )
    if not early:
        commits = world.await_commits(third, 4)
        world.note("Run B commits", first_wrong_snapshot=commits[0].snapshot_id)
