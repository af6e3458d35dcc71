"""Starts without the job's state."""

from bot.lab.proof import prove
from bot.lab.stories import story
from bot.lab.world import World, pair

SKIPPED = 50


@story("The job is cancelled and started without any state: everything is written a second time.")
def started_from_nothing(world: World, early: bool) -> None:
    """The job is deployed anew without its state, under a new job id; the source begins with its first position.

    Ends with the new run committing. `early`: returns when it was submitted.
    """
    first = world.job_after(4)
    world.flink.cancel(first)
    paired = world.commits_of(first)[-1]
    second = world.start_job()
    world.note(
        f"Run A ({first[:8]}) was cancelled; run B ({second[:8]}) was started without state",
        run_a=first,
        run_b=second,
        paired_snapshot=paired.snapshot_id,
    )
    if not early:
        commits = world.await_commits(second, 2)
        world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}", first_wrong_snapshot=commits[0].snapshot_id)


@story("The job starts without state under its old job id: the V2 sink drops its commits.")
def restarted_empty_same_job_id(world: World, early: bool) -> None:
    """The job starts without a savepoint, under the job id that it had before.

    V2 sink: its committer finds the old maximum of this job id on the table and drops every commit below it. V1 sink:
    it commits at once, and the source has begun with its first position: duplicates.

    Ends with three completed checkpoints of the new start. `early`: returns with the first.
    """
    job = world.job_after(6)
    good = world.stop(job)
    paired = world.commits_of(job)[-1]
    world.machines.restart_jobmanager()
    world.clear_checkpoints(job)
    world.start_job(job_id=job)
    world.note(
        f"Job {job[:8]} was stopped with savepoint {good.checkpoint_id} and started without it, under the same job id",
        run_a=job,
        **pair(good, paired),
    )
    world.await_checkpoints(job, 0, 1 if early else 3)
    if not early:
        world.note(f"Checkpoints {sorted(world.flink.completed(job))} completed")


@story("The job starts without state at the source's newest position: what came meanwhile is never read.", "small")
def source_began_too_late(world: World, early: bool) -> None:
    """The job is deployed anew without its state, and its source begins at the newest position.

    Ends with the new run committing above the hole. `early`: returns when it was submitted.
    """
    first = world.job_after(4)
    good = world.stop(first)
    last = prove(world.table).highest
    paired = world.commits_of(first)[-1]
    second = world.start_job(source_options={"fields.source_position.start": str(last + SKIPPED + 1)})
    world.note(
        f"Run A ({first[:8]}) was stopped at position {last}; run B ({second[:8]}) was started without its state, and "
        f"its source began at {last + SKIPPED + 1}",
        run_a=first,
        run_b=second,
        good_savepoint=good.path,
        paired_snapshot=paired.snapshot_id,
        first_missing=last + 1,
        missing_positions=SKIPPED,
    )
    if not early:
        commits = world.await_commits(second, 3)
        world.note(f"Run B commits checkpoint {commits[0].checkpoint_id}", first_wrong_snapshot=commits[0].snapshot_id)
