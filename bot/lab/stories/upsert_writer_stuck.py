"""One of two writers of an upsert table hangs, a checkpoint expires, and its other writer has already handed in.

The V2 sink puts what that writer handed in then and at the next checkpoint into one commit. An equality delete never
reaches rows of its own commit, so both rows of a key live (seen with Iceberg 1.11; the V1 sink keeps them apart). They
live until a later commit has the key again, so keys come here for two seconds and never after.
"""

from bot.lab.errors import LabError, until
from bot.lab.orders import short_lived_keys
from bot.lab.world import World

NAME = "upsert-writer-stuck"
SUMMARY = "One of two writers hangs while a checkpoint expires: the next commit holds rows of a key twice (upsert)."
PATIENT = {
    "execution.checkpointing.timeout": "3 s",
    "execution.checkpointing.tolerable-failed-checkpoints": "100",
}
HANGS_S = 6.5


def tell(world: World, early: bool) -> None:
    """Ends with commits after the failed checkpoint. `early`: returns when it has failed."""
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
    stuck = _with_a_writer_alone(world, job)
    last = world.commits_of(job)[-1]
    world.machines.freeze_taskmanager(HANGS_S, stuck)
    page = f"{world.state.flink_url}/#/job/{job}/checkpoints"
    failed = until("a failed checkpoint", lambda: world.flink.failed(job) or None, 60, page)
    world.note(
        f"A writer of run {job[:8]} hung for {HANGS_S:.0f} s on {stuck}; checkpoints {sorted(failed)} failed",
        run_a=first,
        run_b=job,
        failed_checkpoint=failed[0],
        paired_snapshot=last.snapshot_id,
    )
    if not early:
        world.await_commits(job, 2, after=failed[0])


def _with_a_writer_alone(world: World, job: str) -> str:
    """The TaskManager that holds nothing but one of the two writers."""
    placed = world.flink.places(job)
    busy = {name for subtasks in placed.values() if len(subtasks) == 1 for name in subtasks}
    alone = {name for subtasks in placed.values() for name in subtasks} - busy
    if len(alone) != 1:
        raise LabError(
            "No TaskManager holds one writer and nothing else.",
            f"Expected two TaskManagers (waterline lab up --taskmanagers 2); the job lies so: {placed}.",
            "Start a lab with two, or tell the story again.",
        )
    return alone.pop()
