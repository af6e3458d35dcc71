"""What only a broker can do to the job: its topic, its records and its partitions."""

import time

from bot.lab.errors import until
from bot.lab.orders import IGNORE_UNCLAIMED_PROPERTY
from bot.lab.producer import Producing
from bot.lab.stories import story
from bot.lab.world import Savepoint, World

AWAY_S = 5.0
"""So long nobody reads the topic, and the producer goes on."""
SECOND_TOPIC = "returns"
SECOND_JOB = "returns-to-iceberg"
COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": "1000",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "max.compaction.lag.ms": "1000",
}


def _goes_on(world: World, first: str, good: Savepoint, second: str, how: str) -> None:
    world.note(f"Run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}; run B ({second[:8]}) {how}")
    commits = world.await_commits(second, 3)
    world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}")


def _fresh_start(world: World, startup_mode: str) -> None:
    first, good = world.stopped_after(4)
    time.sleep(AWAY_S)
    second = world.start_job(source_options={"scan.startup.mode": startup_mode})
    _goes_on(world, first, good, second, f"was started without state, at {startup_mode}")


@story("The job starts without state at the topic's end: what came meanwhile is never read.", "kafka")
def started_at_the_latest_offsets(world: World) -> None:
    """Ends with the new run committing above the hole."""
    _fresh_start(world, "latest-offset")


@story("The job starts without state at the offsets that its group committed to the broker.", "kafka")
def started_at_the_group_offsets(world: World) -> None:
    """Ends with the new run committing."""
    _fresh_start(world, "group-offsets")


@story("Retention deletes what the job has not read, while it is stopped: lost for good.", "kafka")
def retention_passed(world: World) -> None:
    """The source begins where it can. Ends with the new run committing above the hole."""
    first, good = world.stopped_after(4)
    time.sleep(AWAY_S)
    starts = world.topic().delete_below_the_end()
    world.note(f"The broker deleted all records below {starts}")
    second = world.start_job(from_path=good.path)
    _goes_on(world, first, good, second, "goes on from it above them")


@story("The job is stopped with a savepoint and goes on from it with parallelism 3 instead of 2.", "kafka")
def rescaled_from_two_to_three(world: World) -> None:
    """Partitions move between subtasks; nothing is wrong. Ends with the second run committing."""
    first, good = world.stopped_after(4)
    second = world.start_job(from_path=good.path, properties={"parallelism.default": "3"})
    _goes_on(world, first, good, second, "goes on from it with parallelism 3")


@story("A partition gets no more records, and the job is restarted as planned; nothing is wrong.", "kafka")
def idle_partition(world: World) -> None:
    """Ends with the second run committing."""
    world.produces(Producing(partitions=(0, 1)))
    first, good = world.stopped_after(4)
    second = world.start_job(from_path=good.path)
    _goes_on(world, first, good, second, "goes on from it; partition 2 is silent")


@story("A partition is added to the topic while the job runs: the source finds it.", "kafka")
def partition_added(world: World) -> None:
    """The source looks for new ones each three seconds. Ends with rows of the new partition."""
    job = world.job_after(4)
    added = world.topic().add_partition()
    world.note(f"Partition {added} was added")
    until("rows of the new partition", lambda: added in world.partitions() or None, 60, "the job's page in Flink")
    world.await_more_commits(job, 2)


@story("The topic is deleted and made anew while the job is stopped: offsets begin at 0 again.", "kafka")
def topic_made_anew(world: World) -> None:
    """Everything was read before. The source finds its offsets nowhere, and begins with the new topic's first records:
    none is lost, none is there twice, and offsets come again.

    Ends with the new run committing.
    """
    world.produces(Producing(is_paused=True))
    first = world.running_job()
    world.await_more_commits(first, 4)
    world.await_first_reads()
    good = world.stop(first)
    topic = world.topic()
    topic.make_anew(len(topic.ends()))
    world.produces(Producing())
    time.sleep(1)
    second = world.start_job(from_path=good.path)
    _goes_on(world, first, good, second, "goes on from it, and the topic is another one")


@story(
    "The job is restored with a filter that lets nothing through: it reads, completes checkpoints, writes nothing.",
    "kafka",
)
def restored_writing_nothing(world: World) -> None:
    """Another version of the job goes on from the stop savepoint, and throws each row away before its sink. Source and
    checkpoints go on, nothing fails and nothing waits, as where a sink does so by itself (apache/iceberg #17494).

    Ends with several checkpoints of the second run, whose source has read what the table does not have.
    """
    first, good = world.stopped_after(4)
    second = world.start_job(from_path=good.path, only="CHAR_LENGTH(order_id) > 1000")
    world.note(
        f"Run A ({first[:8]}) was stopped with savepoint {good.checkpoint_id}; run B ({second[:8]}) goes on from it, "
        "with a filter that no row passes"
    )
    world.await_checkpoints(second, good.checkpoint_id, 8)
    world.note(f"Checkpoints {sorted(world.flink.completed(second))} completed")


@story("The source gets another uid, its state is left behind, the sink's stays: everything is read again.", "kafka")
def source_uid_changed(world: World) -> None:
    """A parallelism of its own gives the source another uid; Flink is told to leave unclaimed state behind.

    Ends with the new run committing.
    """
    first, good = world.stopped_after(4)
    second = world.start_job(
        from_path=good.path,
        source_options={"scan.parallelism": "1"},
        properties={IGNORE_UNCLAIMED_PROPERTY: "true"},
    )
    _goes_on(world, first, good, second, "was restored from it without the source's state")


@story("The producer writes in transactions and aborts each fourth; the job is restarted as planned.", "kafka")
def aborted_transactions(world: World) -> None:
    """Aborted records and the marks of transactions have offsets and are no rows: holes, and nothing is wrong.

    Ends with the second run committing.
    """
    world.produces(Producing(in_transactions=True))
    first, good = world.stopped_after(8)
    second = world.start_job(from_path=good.path)
    _goes_on(world, first, good, second, "goes on from it")


@story("Records that are no JSON are skipped on purpose; the job is restarted as planned.", "kafka")
def records_skipped_on_purpose(world: World) -> None:
    """Holes, and nothing is wrong. Ends with the second run committing."""
    skips = {"json.ignore-parse-errors": "true"}
    started = world.running_job()
    world.await_commits(started, 2)
    before = world.stop(started)
    world.produces(Producing(garbage_every=20))
    world.start_job(from_path=before.path, source_options=skips)
    first, good = world.stopped_after(5)
    second = world.start_job(from_path=good.path, source_options=skips)
    _goes_on(world, first, good, second, "goes on from it")


@story("The topic is compacted while the job is stopped: what newer records replaced is never read.", "kafka")
def topic_compacted(world: World) -> None:
    """What the broker dropped before the job read it are holes, not losses.

    Ends with the second run committing.
    """
    world.topic().configure(COMPACTED)
    world.produces(Producing(keys=12))
    first, good = world.stopped_after(6)
    time.sleep(4 * AWAY_S)
    second = world.start_job(from_path=good.path)
    _goes_on(world, first, good, second, "goes on from it, and the topic was compacted meanwhile")


@story("A second job, which reads another topic, writes the same table.", "kafka")
def second_job_of_another_topic(world: World) -> None:
    """Partitions and offsets of the two topics are the same numbers. Nothing is wrong.

    Ends with commits of both between each other's.
    """
    first = world.job_after(3)
    returns = world.topic(SECOND_TOPIC)
    returns.make_anew(3)
    second = world.start_job(
        source_options={"topic": SECOND_TOPIC, "properties.group.id": SECOND_JOB},
        properties={"pipeline.name": SECOND_JOB},
    )
    world.note(f"A second job ({second[:8]}) reads the topic {SECOND_TOPIC} into the table of run A ({first[:8]})")
    for _ in range(4):
        returns.write(60)
        world.await_more_commits(second, 1)
    world.await_more_commits(first, 2)
    world.note("Both commit")


@story("Somebody sets the catalog's pointer back behind the running job: commits are gone.", "kafka")
def pointer_set_back(world: World) -> None:
    """As after a restored backup. The metadata does not tell: no snapshot of the lost commits is in it.

    Ends with the job committing above the older metadata.
    """
    job = world.job_after(6)
    lost = world.commits_of(job)[-2:]
    older = world.hands.set_pointer_back(3)
    world.note(f"The catalog names {older.rpartition('/')[2]} again")
    newest = lost[-1].checkpoint_id or 0
    world.await_commits(job, 3, after=newest + 1)
