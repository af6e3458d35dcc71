"""What others do to the table or to its files."""

import time

from bot.lab.errors import LabError
from bot.lab.stories import story
from bot.lab.world import World

ATTEMPTS = 4
_REFRESHED_S = 1.0
"""The lab's Flink tells of a checkpoint up to half a second late; a new TaskManager takes several."""
_CLEANED_S = 0.5
"""The sink deletes a checkpoint's Flink manifest after the commit: killed between both, it commits it once more."""


@story("A column is added under the running job: the job leaves it empty.")
def column_added(world: World) -> None:
    """Ends with commits after the change."""
    job = world.job_after(3)
    newest = world.newest_checkpoint(job)
    world.hands.sql("ALTER TABLE {table} ADD COLUMN channel STRING")
    world.note("Someone added the column channel")
    world.await_commits(job, 2, after=newest + 1)


@story("Spark compacts the table in between the job's commits; nothing is wrong.")
def compacted_by_spark(world: World) -> None:
    """Ends with the job committing above the compaction."""
    job = world.job_after(4)
    world.hands.compacts()
    world.note("Spark compacted the table")
    world.await_more_commits(job, 2)


@story("A Spark job deletes rows in between the job's commits: a hole that Flink did not make.", "small")
def deleted_by_spark(world: World) -> None:
    """Ends with the job committing above the delete."""
    job = world.running_job()
    world.await_commits(job, 4)
    world.await_first_reads()
    world.hands.sql("DELETE FROM {table} WHERE source_position BETWEEN 5 AND 14")
    chain = world.table.history()
    world.note("A Spark job deleted positions 5 to 14")
    world.await_more_commits(job, 2)
    world.note(f"Run A ({job[:8]}) commits above it; the table has had {len(chain)} heads")


@story("The last commit before a restart is there twice, with the same files (constructed).")
def committed_twice(world: World) -> None:
    """As where a commit was applied while its answer was lost. Made by hand, with the same files and the same Flink
    properties, while the job is stopped: no catalog of this lab loses answers.

    Ends with the next run committing above the repeated commit.
    """
    first, good = world.stopped_after(3)
    once = next(link for link in reversed(world.commits_of(first)) if link.added_rows > 0)
    world.hands.commit_again(once.snapshot_id)
    world.note(
        f"Checkpoint {once.checkpoint_id} of run A ({first[:8]}) was committed a second time, the same files again"
    )
    second = world.start_job(from_path=good.path)
    world.await_commits(second, 2)
    world.note(f"Run B ({second[:8]}) went on from savepoint {good.checkpoint_id}")


@story("Another writer commits, all older snapshots are expired, and the restored job fails in a loop.", "small")
def last_commit_expired(world: World) -> None:
    """The sink no longer finds a commit of its own among the ancestors, takes the restored checkpoint for uncommitted
    and looks for its Flink manifest, which was deleted when it was committed.

    Ends with the restored job in its restart loop.
    """
    first = world.job_after(3)
    first, good = world.stop_with_rows(first)
    world.hands.sql(
        "INSERT INTO {table} SELECT 'backfill-1', event_time, customer, amount, 0 FROM {table} LIMIT 1",
        "CALL {catalog}.system.expire_snapshots(table => '{table}', older_than => now(), retain_last => 1)",
    )
    second = world.start_job(from_path=good.path)
    world.note(
        f"Run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}; a Spark job appended; maintenance kept "
        f"only that snapshot. Then run B ({second[:8]}) was started from the savepoint"
    )
    world.await_failure(second, "NotFoundException")
    world.note(f"Run B ({second[:8]}) fails with NotFoundException and restarts")


@story("After a planned restart the table is rolled back under the running job: a hole.")
def rolled_back_while_running(world: World) -> None:
    """The job does not look back: it appends its next checkpoint to the older snapshot, and the rows between are gone.

    Ends with the job appending above the hole; the planned savepoint pairs with the snapshot rolled back to.
    """
    first, good = world.stopped_after(4)
    paired = world.commits_of(first)[-1]
    second = world.start_job(from_path=good.path)
    world.note(
        f"Planned restart: run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}, "
        f"run B ({second[:8]}) went on from it"
    )
    world.await_commits(second, 3)
    world.hands.roll_back_to(paired.snapshot_id)
    world.note(f"Someone rolled the table back to snapshot …{paired.snapshot_id % 1_000_000:06d}")
    commits = world.await_commits(second, 2)
    world.note(f"Run B went on with checkpoint {commits[0].checkpoint_id} on the older snapshot")
    world.consume("revenue_daily")


@story("The table is rolled back during a failover: the job looks for a deleted Flink manifest, in a loop.")
def rolled_back_then_failed_over(world: World) -> None:
    """The checkpoint that Flink restores still names a Flink manifest that was deleted when it was committed; with the
    commit gone from main, the sink wants to commit it again and does not find it.

    Ends with the job in its restart loop.
    """
    job = world.job_after(4)
    for _ in range(ATTEMPTS):
        newest = world.newest_checkpoint(job)
        world.await_commits(job, 1, after=newest)
        time.sleep(_CLEANED_S)
        killed = world.machines.kill_taskmanager()
        time.sleep(_REFRESHED_S)
        chain = world.commits_of(job)
        if world.flink.completed(job)[0] == chain[-1].checkpoint_id and chain[-1].added_rows > 0:
            break
        world.machines.await_new_taskmanager(killed)
        world.await_commits(job, 2, after=newest + 1)
    else:
        raise LabError(
            "The TaskManager never died between a commit and the next checkpoint.",
            f"Expected it within {ATTEMPTS} attempts; each time a completed checkpoint was not committed yet.",
            "Run the story again on a machine with less load.",
        )
    target = chain[-3]
    world.hands.roll_back_to(target.snapshot_id)
    world.note(
        f"The TaskManager (process {killed}) was killed; then someone rolled the table back from checkpoint "
        f"{chain[-1].checkpoint_id} to {target.checkpoint_id}",
        run_a=job,
        paired_snapshot=target.snapshot_id,
    )
    world.await_failure(job, "NotFoundException")
    world.note(f"Job {job[:8]} fails with NotFoundException and restarts")


@story("A data file of a committed snapshot disappears from storage: readers fail, the job does not notice.")
def data_file_removed(world: World) -> None:
    """Ends with the job committing on."""
    job = world.job_after(4)
    commits = world.commits_of(job)
    hurt = next(link for link in reversed(commits[:-1]) if link.added_rows > 0)
    world.hands.remove_data_file(hurt.snapshot_id)
    world.note(f"A clean-up deleted a data file of checkpoint {hurt.checkpoint_id}")
    world.await_commits(job, 2, after=commits[-1].checkpoint_id or 0)


@story("The table's current metadata file disappears while the job is stopped: the table cannot be opened.")
def metadata_file_removed(world: World) -> None:
    """Ends with the job stopped and its restart refused."""
    job, good = world.stopped_after(3)
    world.hands.remove_metadata_file()
    world.note(
        f"Run A ({job[:8]}) was stopped with savepoint {good.checkpoint_id}; a clean-up deleted the current metadata"
    )
    try:
        world.start_job(from_path=good.path)
    except LabError:
        world.note("The job cannot be started again")
