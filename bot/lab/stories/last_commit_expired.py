"""Maintenance expires the job's last commit while the job is stopped; the restored job fails in a loop.

The sink no longer finds a commit of its own among the ancestors, takes the restored checkpoint for uncommitted and
looks for its Flink manifest, which was deleted when it was committed.
"""

from bot.lab.world import World

NAME = "last-commit-expired"
SUMMARY = "Another writer commits, all older snapshots are expired, and the restored job fails in a loop."


def tell(world: World, early: bool) -> None:
    """Ends with the restored job in its restart loop. `early`: returns when it was submitted."""
    first = world.running_job()
    world.await_commits(first, 3)
    world.await_first_reads()
    first, good = world.stop_with_rows(first)
    paired = world.commits_of(first)[-1]
    world.hands.sql(
        "INSERT INTO {table} SELECT 'backfill-1', event_time, customer, amount, 0 FROM {table} LIMIT 1",
        "CALL {catalog}.system.expire_snapshots(table => '{table}', older_than => now(), retain_last => 1)",
    )
    second = world.start_job(from_path=good.path)
    world.note(
        f"Run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}; a Spark job appended, maintenance kept "
        f"only that snapshot, and run B ({second[:8]}) was started from the savepoint",
        run_a=first,
        run_b=second,
        good_savepoint=good.path,
        good_checkpoint=good.checkpoint_id,
        expired_snapshot=paired.snapshot_id,
    )
    if not early:
        world.await_failure(second, "NotFoundException")
        world.note(f"Run B ({second[:8]}) fails with NotFoundException and restarts")
