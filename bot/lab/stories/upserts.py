"""Tables that are written by key."""

from bot.lab.errors import until
from bot.lab.orders import few_keys, short_lived_keys
from bot.lab.stories import story
from bot.lab.stories.failures import PATIENT, with_a_writer_alone
from bot.lab.world import World

CHANGE = "ALTER TABLE {table} ADD PARTITION FIELD bucket(4, order_id)"
HANGS_S = 6.5


@story("An upsert table gets a partition field of its key: older rows of a key are no longer replaced.", "small")
def upsert_partitioning_changed(world: World) -> None:
    """An equality delete applies to files of its own partition, and a row that was written before lies in none of
    these.

    Ends with commits under the new partitioning.
    """
    first = world.running_job()
    world.await_commits(first, 1)
    second = world.start_job(from_path=world.stop(first).path, columns={"order_id": few_keys})
    world.await_commits(second, 6)
    world.await_first_reads()
    good = world.stop(second)
    world.hands.sql(CHANGE)
    third = world.start_job(from_path=good.path, columns={"order_id": few_keys})
    world.note(
        f"The table is partitioned by bucket(4, order_id) since; run {third[:8]} goes on from savepoint "
        f"{good.checkpoint_id}"
    )
    world.await_commits(third, 4)
    world.note("Run B commits")


@story(
    "One of two writers hangs while a checkpoint expires: the next commit holds rows of a key twice (upsert).", "small"
)
def upsert_writer_stuck(world: World) -> None:
    """The V2 sink puts what the other writer handed in then and at the next checkpoint into one commit. An equality
    delete never reaches rows of its own commit, so both rows of a key live (seen with Iceberg 1.11; the V1 sink keeps
    them apart). They live until a later commit has the key again, so keys come here for two seconds and never after.

    Ends with commits after the failed checkpoint.
    """
    first = world.running_job()
    world.await_commits(first, 1)
    good = world.stop(first)
    job = world.start_job(
        from_path=good.path,
        sink_options={"write-parallelism": "2"},
        properties=PATIENT,
        columns={"order_id": short_lived_keys},
    )
    world.await_commits(job, 4)
    world.await_first_reads()
    stuck = with_a_writer_alone(world, job)
    world.machines.freeze_taskmanager(HANGS_S, stuck)
    page = f"{world.state.flink_url}/#/job/{job}/checkpoints"
    failed = until("a failed checkpoint", lambda: world.flink.failed(job) or None, 60, page)
    world.note(f"A writer of run {job[:8]} hung for {HANGS_S:.0f} s on {stuck}; checkpoints {sorted(failed)} failed")
    world.await_commits(job, 2, after=failed[0])
